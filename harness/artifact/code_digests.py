"""Digests of code: whatever is built and measured depends on the code that generates and calls it.

Code has a name.  `acme` is a top-level package, or module, with all its source files.  `acme:../csrc` is a
file or folder beside it that a plugin declares in `sources`.  Files are read once in a process.
"""

import functools
import hashlib
import importlib.util
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import TypeAdapter

from harness import plugins
from harness.system.digest import digest
from harness.system.errors import ChangedCodeError, PluginError
from harness.system.validation import shown

OWN_PACKAGE = "harness"
PATHS = TypeAdapter(tuple[Path, ...])
SOURCES = frozenset(
    [
        *(".py", ".sh", ".pxd", ".pxi", ".pyx"),
        *(".asm", ".c", ".c++", ".cc", ".cpp", ".cppm", ".cxx", ".def", ".h", ".h++", ".hh", ".hpp", ".hxx"),
        *(".inc", ".inl", ".ipp", ".ixx", ".s", ".tcc", ".tpp", ".txx", ".f", ".f90", ".rs", ".zig"),
        *(".cl", ".comp", ".cu", ".cuh", ".glsl", ".hip", ".m", ".metal", ".mm", ".wgsl"),
        *(".in", ".j2", ".jinja", ".jinja2", ".mako", ".template", ".tmpl", ".tpl"),
        *(".bc", ".ll", ".mlir", ".ptx", ".td"),
        *(".a", ".cubin", ".fatbin", ".hsaco", ".o", ".so", ".spv"),
    ]
)
"""Suffixes of a package's source files.  Settings, such as JSON, are not among them: a package's folder may
hold experiments and results, too."""
NOT_OF_A_PACKAGE = ("__pycache__", "node_modules", "site-packages", "dist-packages")
"""Folders in a package's that hold none of its code, such as a virtual environment's in a repository."""
COMPILED_INTO = "build"
"""Folder of a package for what it compiles while it runs: only the Python in it is source."""
NOT_BUILT_WITH = "reporting"
"""Folder of this package that no build and no measurement depends on."""


def code_of_plugin(kind: str, name: str) -> dict[str, str]:
    """Return the digests of a plugin's code: of its entry point's package, and of its declared `sources`."""
    plugin = plugins.load(kind, name)
    variants, targets = ([name], []) if kind == "variant" else ([], [name])
    (package,) = plugins.packages_of(variants, targets)
    with plugins.asked(kind, name, "its sources"):
        declared = _relative_paths(getattr(plugin, "sources", ()))
    return code_digests([package, *(f"{package}:{path}" for path in declared)])


def code_digests(names: Iterable[str]) -> dict[str, str]:
    """Return the digest of the code of each name."""
    return {name: code_digest(name) for name in names}


@functools.cache
def code_digest(name: str = OWN_PACKAGE) -> str:
    """Return the digest of code of a name, by default this package's; `PluginError` where there is none."""
    return code_digest_at(name, _places(name.partition(":")[0]))


def code_digest_at(name: str, places: Sequence[Path]) -> str:
    """Return the digest of code whose package lies in these places; errors as `code_digest`."""
    files = sorted(_files(name, places))
    if not files:
        raise PluginError(f"{name}: no source file is found")
    return digest([(path, hashlib.sha256(file.read_bytes()).hexdigest()) for path, file in files])


def require_same_code(expected: Mapping[str, str], digests: Mapping[str, str]) -> None:
    """Raise `ChangedCodeError` where code that both name has another digest than is expected."""
    changed = [name for name in sorted(expected.keys() & digests.keys()) if expected[name] != digests[name]]
    if changed:
        raise ChangedCodeError(
            f"{', '.join(changed)}: the code is not what the run began with: it was changed meanwhile, or is "
            "found in another folder; --resume builds and measures again what it is now"
        )


def _relative_paths(declared: object) -> list[str]:
    """Return the paths that a plugin declares, which results publish: absolute ones are refused."""
    paths = PATHS.validate_python(declared)
    if absolute := [path for path in paths if path.is_absolute()]:
        raise ValueError(
            f"found {shown(str(absolute[0]))}, expected a path from the folder of the plugin's package"
        )
    return [path.as_posix() for path in paths]


def _files(name: str, places: Sequence[Path]) -> Iterator[tuple[str, Path]]:
    """Yield the relative path and the place of each file of code whose package lies in these places."""
    package, _, declared = name.partition(":")
    if not declared:
        for place in places:
            yield from (entry for entry in _files_at(place) if _is_source(package, Path(entry[0])))
    elif places:
        folder = places[0] if places[0].is_dir() else places[0].parent
        yield from _files_at(folder / declared)


def _places(package: str) -> list[Path]:
    """Return the folders of a package, or the file of a module; none where it is not found."""
    try:
        specification = importlib.util.find_spec(package)
    except ValueError:  # a module that was made by hand
        return []
    if specification is None:
        return []
    if specification.has_location and specification.origin:
        module = Path(specification.origin)
        return [module if specification.submodule_search_locations is None else module.parent]
    return [
        Path(folder) for folder in specification.submodule_search_locations or () if Path(folder).is_dir()
    ]


def _files_at(place: Path) -> Iterator[tuple[str, Path]]:
    if place.is_file():
        yield place.name, place
    for here, folders, files in os.walk(place):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in NOT_OF_A_PACKAGE]
        for file in map(Path(here).joinpath, files):
            if file.is_file():
                yield file.relative_to(place).as_posix(), file


def _is_source(package: str, path: Path) -> bool:
    if package == OWN_PACKAGE and NOT_BUILT_WITH in path.parts:
        return False
    is_compiled = COMPILED_INTO in path.parts[:-1] and path.suffix != ".py"
    return path.suffix.lower() in SOURCES and not is_compiled

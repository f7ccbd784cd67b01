"""Content digests: what names cases, artifacts and versions of this package's own code."""

import contextlib
import functools
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.code_places import specification_of
from harness.errors import ChangedCodeError

if TYPE_CHECKING:
    import numpy as np

OWN_PACKAGE = "harness"
SOURCES = (".py", ".c", ".cl", ".h", ".jinja", ".sh")
"""Files of this package that what it makes depends on."""
SOURCES_OF_OTHERS = frozenset(
    [
        *SOURCES,
        *(".asm", ".c++", ".cc", ".comp", ".cpp", ".cppm", ".cu", ".cuh", ".cxx", ".def", ".glsl", ".h++"),
        *(".hh", ".hip", ".hpp", ".hxx", ".inc", ".inl", ".ipp", ".ixx", ".s", ".tcc", ".tpp", ".txx"),
        *(".f", ".f90", ".m", ".metal", ".mm", ".pxd", ".pxi", ".pyx", ".rs", ".wgsl", ".zig"),
        *(".in", ".j2", ".jinja2", ".mako", ".template", ".tmpl", ".tpl"),
        *(".bc", ".ll", ".mlir", ".ptx", ".td"),
        *(".a", ".cubin", ".fatbin", ".hsaco", ".o", ".so", ".spv"),
    ]
)
"""Files of a plugin's packages that its code may read: other languages, and what was compiled.

Settings, such as JSON, are not among them: a package's folder may hold experiments and results, too."""
INSTALLED = ("site-packages", "dist-packages")
"""Folders of installed packages, which have versions."""
NOT_OF_A_PACKAGE = ("__pycache__", "node_modules", *INSTALLED)
"""Folders in a package's that hold none of its code, such as a virtual environment's in a repository."""
BUILT = "build"
"""Folder for what code compiles while it runs; Python in it may be imported, and is code all the same."""


def digest(value: Any) -> str:
    """Return the SHA-256 of a JSON-serialisable value in canonical form, as hexadecimal digits."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()


@functools.cache
def code_digest(package: str = OWN_PACKAGE) -> str:
    """Return the digest of a package's sources as they are when it is asked for first, by default this one's.

    An artifact is a function of the problem, the parameters, the tools *and* the code that generates it,
    so a change to that code must not be answered from an old artifact or an old result.
    """
    return digest_of_sources(package)


def digest_of_sources(package: str) -> str:
    """Return the digest of a package's sources as they are now."""
    hasher = hashlib.sha256()
    for root, path in _sources(package):
        if package == OWN_PACKAGE and "reporting" in path.relative_to(root).parts:
            continue
        hasher.update(str(path.relative_to(root)).encode())
        hasher.update(path.read_bytes())
    return hasher.hexdigest()


def digests_besides_python(packages: Iterable[str]) -> list[tuple[str, str]]:
    """Return name and digest of each source of packages that is no Python, in the order of names."""
    return [
        (str(path.relative_to(root)), hashlib.sha256(path.read_bytes()).hexdigest())
        for package in sorted(packages)
        for root, path in _sources(package)
        if path.suffix != ".py"
    ]


def source_stamps(packages: Iterable[str]) -> tuple[tuple[str, int, int], ...]:
    """Return name, time and size of each source file of packages: what tells quickly that one has changed."""
    found = []
    for package in sorted(packages):
        for _, path in _sources(package):
            state = path.stat()
            found.append((str(path), state.st_mtime_ns, state.st_size))
    return tuple(found)


def code_digests(packages: Iterable[str]) -> dict[str, str]:
    """Return the digest of the sources of each package."""
    return {package: code_digest(package) for package in packages}


def require_same_code(expected: Mapping[str, str], found: Mapping[str, str]) -> None:
    """Raise `ChangedCodeError` where packages that both name have other sources than is expected."""
    changed = [name for name in sorted(expected.keys() & found.keys()) if expected[name] != found[name]]
    if changed:
        raise ChangedCodeError(
            f"{', '.join(changed)}: the code is not what the run began with: it was changed meanwhile, or is "
            "found in another folder; --resume builds and measures again what it is now"
        )


def files_below(folder: Path) -> Iterator[Path]:
    """Yield the files of a package's folder, without hidden folders and installed packages in it.

    Python imports from linked folders, too: those that sources lie in are followed, each once; a link to
    data is none of them.
    """
    seen = set()
    for here, folders, files in os.walk(folder, followlinks=True):
        with contextlib.suppress(OSError):
            state = os.stat(here)
            place = (state.st_dev, state.st_ino)
            if place in seen:
                folders.clear()
                continue
            seen.add(place)
        folders[:] = sorted(name for name in folders if _is_of_a_package(Path(here, name)))
        yield from (path for path in (Path(here, name) for name in files) if path.is_file())


def _is_of_a_package(folder: Path) -> bool:
    """Whether a folder in that of a package may hold code of it."""
    if folder.name.startswith(".") or folder.name in NOT_OF_A_PACKAGE:
        return False
    if not folder.is_symlink():
        return True
    try:
        return any(Path(entry.name).suffix.lower() in SOURCES_OF_OTHERS for entry in os.scandir(folder))
    except OSError:
        return False


def sources_of(packages: Iterable[str]) -> list[tuple[Path, Path]]:
    """Return (folder, file) of each source of packages that is hashed, without what cannot be looked up."""
    found: list[tuple[Path, Path]] = []
    for package in packages:
        with contextlib.suppress(ImportError, ValueError):  # such as a module that was made by hand
            found += _sources(package)
    return found


def folders_of(specification: ModuleSpec) -> tuple[str, ...]:
    """Return the folders of a package, none of a module that is one file.

    An editable installation may name places that are no folders, where its own finder looks: then it is the
    folder that the package's module lies in.
    """
    places = tuple(specification.submodule_search_locations or ())
    if not places or any(map(os.path.isdir, places)) or not os.path.isfile(specification.origin or ""):
        return places
    return (os.path.dirname(specification.origin or ""),)


def _sources(package: str) -> Iterator[tuple[Path, Path]]:
    """Yield (folder, source file) of a package, or of a module that is one file, or the zip file it is in."""
    specification = specification_of(package)
    if specification is None:
        return
    archive = getattr(specification.loader, "archive", None)
    if archive is not None:
        yield Path(archive).parent, Path(archive)
        return
    kinds = SOURCES if package == OWN_PACKAGE else SOURCES_OF_OTHERS
    for folder in map(Path, folders_of(specification)):
        for path in sorted(files_below(folder)):
            is_built = BUILT in path.relative_to(folder).parts[:-1] and path.suffix != ".py"
            if path.suffix.lower() in kinds and not is_built:
                yield folder, path
    if not specification.submodule_search_locations and specification.origin:
        yield Path(specification.origin).parent, Path(specification.origin)


def digest_of_array(array: "np.ndarray") -> str:
    """Return a digest of an array's values, fast enough for gigabytes, as hexadecimal digits."""
    import numpy as np

    values = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return hashlib.blake2b(values.data, digest_size=16).hexdigest()

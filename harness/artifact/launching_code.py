"""The code that launches an artifact: what its loader's module is made of, as a digest.

Machine code is called by code of this package or of a plugin, which cuts grids into pieces, keeps threads
and copies arrays: a call can become slower although the machine code is the same.  The code is read, not
imported.
"""

import contextlib
import functools
import importlib.metadata
import sys
import tokenize
from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from zipimport import zipimporter

from harness.code_packages import named_modules, reached_packages
from harness.code_places import specification_of
from harness.digest import digest, digests_besides_python, folders_of, source_stamps

OWN = __name__.partition(".")[0]
ROOMS = ("artifact", "targets", "variants")
"""Rooms of this package whose modules count where they are imported; others describe and do not launch."""
ALWAYS = tuple(f"{OWN}.artifact.{name}" for name in ("bound_call", "ranks", "padding", "pages"))
"""Modules that every call goes through, or can."""


def launching_digest(loader: str) -> str | None:
    """Return a digest of the sources that a loader, `package.module:function`, is made of.

    These are its module and what that imports: of its own package, of others that are not installed
    (`harness.code_packages`), and of what launches in this one; besides what these packages hold that is no
    Python, and the versions of all other packages that they import.  None where the module is not found.
    """
    first = loader.partition(":")[0]
    if _source(first) is None:
        return None
    own = reached_packages([first.partition(".")[0]]) - {OWN}
    return _digest(first, frozenset(own), source_stamps(own))


@functools.lru_cache(maxsize=256)
def _digest(first: str, own: frozenset[str], stamps: object) -> str:
    """Return the digest of a loader's module, whose own packages have these stamps."""
    sources: dict[str, str] = {}
    others: set[str] = set()
    waiting = [first, *ALWAYS]
    while waiting:
        name = waiting.pop()
        source = None if name in sources else _source(name)
        if source is None:
            continue
        sources[name] = source
        for imported in _imported(name, source):
            top = imported.partition(".")[0]
            if _counts(imported, own):
                waiting.append(imported)
            elif top and top not in (OWN, *own, *sys.stdlib_module_names):
                others.add(top)
    return digest([sorted(sources.items()), digests_besides_python(own), _versions(others)])


def _counts(module: str, own: Collection[str]) -> bool:
    top, _, rest = module.partition(".")
    return rest.partition(".")[0] in ROOMS if top == OWN else top in own


def _imported(module: str, source: str) -> Iterator[str]:
    """Yield the modules that a module's source imports or loads; of names also what may be modules."""
    for level, name in named_modules(source):
        yield name if level == 0 else _absolute(module, level, name)


def _absolute(module: str, level: int, name: str) -> str:
    """Return what a relative import in a module means; empty where it leaves the package."""
    parts = module.split(".")
    if not _is_package(module):
        parts = parts[:-1]
    parts = parts[: len(parts) - (level - 1)]
    return ".".join([*parts, *filter(None, [name])]) if parts else ""


def _is_package(module: str) -> bool:
    found = _specification(module)
    return found is not None and found.submodule_search_locations is not None


def _specification(module: str) -> ModuleSpec | None:
    """Return where a module lies, None where it is not found; its package is not imported for that."""
    top, *parts = module.split(".")
    try:
        found = specification_of(top)
        for part in parts:
            if found is None or found.submodule_search_locations is None:
                return None
            name = f"{found.name}.{part}"
            found = PathFinder.find_spec(name, list(folders_of(found)))
    except (ImportError, ValueError):
        return None
    return found


def _source(module: str) -> str | None:
    """Return the source of a module, whatever its encoding, also in a zip file; None where there is none."""
    found = _specification(module)
    if found is None or found.origin is None or not found.origin.endswith(".py"):
        return None
    try:
        with tokenize.open(found.origin) as file:
            return file.read()
    except NotADirectoryError:
        return found.loader.get_source(module) if isinstance(found.loader, zipimporter) else None


def _versions(packages: set[str]) -> list[tuple[str, str]]:
    """Return the names and versions of the distributions that these packages come from.

    Where files of any distribution are damaged nothing may say that: those called like the packages count.
    """
    try:
        known: Mapping[str, Sequence[str]] = importlib.metadata.packages_distributions()
    except Exception:  # some distribution's, which this does not name
        known = {package: [package] for package in packages}
    names = sorted({name for package in packages for name in known.get(package, ()) if name})
    versions = []
    for name in names:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError, TypeError, KeyError):
            versions.append((name, str(importlib.metadata.version(name))))
    return versions

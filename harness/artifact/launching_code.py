"""The code that launches an artifact: what its loader's module is made of, as a digest.

Machine code is called by code of this package or of a plugin, which cuts grids into pieces, keeps threads
and copies arrays: a call can become slower although the machine code is the same.  The code is read, not
imported.
"""

import ast
import contextlib
import functools
import importlib.metadata
import importlib.util
import sys
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from zipimport import zipimporter

from harness.digest import digest

OWN = __name__.partition(".")[0]
ROOMS = ("artifact", "targets", "variants")
"""Rooms of this package whose modules count where they are imported; others describe and do not launch."""
ALWAYS = tuple(f"{OWN}.artifact.{name}" for name in ("bound_call", "ranks", "padding", "pages"))
"""Modules that every call goes through, or can."""


@functools.cache
def launching_digest(loader: str) -> str | None:
    """Return a digest of the sources that a loader, `package.module:function`, is made of.

    These are its module and what that imports, of its own package and of what launches in this one, and the
    versions of other packages that they import.  None where the module is not found.
    """
    first = loader.partition(":")[0]
    if _source(first) is None:
        return None
    sources: dict[str, str] = {}
    others: set[str] = set()
    waiting = [first, *ALWAYS]
    while waiting:
        name = waiting.pop()
        source = None if name in sources else _source(name)
        if source is None:
            continue
        sources[name] = source
        for imported in _imported(sources[name]):
            if _counts(imported, first):
                waiting.append(imported)
            elif imported.partition(".")[0] not in (OWN, *sys.stdlib_module_names):
                others.add(imported.partition(".")[0])
    return digest([sorted(sources.items()), _versions(others)])


def _counts(module: str, loader: str) -> bool:
    top, _, rest = module.partition(".")
    return rest.partition(".")[0] in ROOMS if top == OWN else top == loader.partition(".")[0]


def _imported(source: str) -> Iterator[str]:
    """Yield the modules that a source imports, also within functions; of names also what may be modules."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _source(module: str) -> str | None:
    """Return the source of a module, whatever its encoding, also in a zip file; None where there is none."""
    try:
        found = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None
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

"""Where packages lie, whatever builds have loaded and put on the path of this process since.

A worker builds one case after the other.  What one of them generates and imports, or finds in a folder that
it adds to the path, is no code of the others: their content keys are those that a new process would give.
"""

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder

_loaded_by_builds: set[str] = set()
"""Top-level names of modules that were not there before a build."""
_added_by_builds: set[str] = set()
"""Entries of the path that were not there before a build."""


@contextmanager
def leaving_places() -> Iterator[None]:
    """Remember what is loaded and added to the path in here, so that `place_of` does not find it there."""
    modules, path = set(sys.modules), set(sys.path)
    try:
        yield
    finally:
        _loaded_by_builds.update(name.partition(".")[0] for name in sys.modules.keys() - modules)
        _added_by_builds.update(set(sys.path) - path)


def place_of(package: str) -> ModuleSpec | None:
    """Return where a top-level package lies, None where it is not found."""
    try:
        return specification_of(package)
    except (ImportError, ValueError):  # a module that was made by hand
        return None


def specification_of(package: str) -> ModuleSpec | None:
    """Return where a top-level package lies; raises as `importlib.util.find_spec` does."""
    if package in _loaded_by_builds or (_added_by_builds and package not in sys.modules):
        return _found_without_builds(package)
    return importlib.util.find_spec(package)


def _found_without_builds(package: str) -> ModuleSpec | None:
    """Return what the path had before builds, as an import finds it in a new process."""
    path = [entry for entry in sys.path if entry not in _added_by_builds]
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)  # old finders have none
        specification = None if find is None else find(package, path if finder is PathFinder else None)
        if specification is not None:
            found: ModuleSpec = specification
            return found
    return None

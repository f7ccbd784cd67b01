"""Which packages and modules the code of a plugin lies in: a change to any of them changes its cases."""

import ast
import functools
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

INSTALLED = ("site-packages", "dist-packages")
"""Folders of installed packages: what lies there side by side does not belong together."""


def code_packages(plugin: object) -> set[str]:
    """Return the packages that define a plugin's class and its bases, and what they import from beside them.

    What lies beside is a module or package in the same folder, as in a repository: `kernels.py` beside
    `variant.py`.  Packages that are installed, and the standard library, have versions instead; of installed
    ones those that define a base belong to a plugin's code, too.
    """
    defining = {base.__module__.partition(".")[0] for base in type(plugin).__mro__}
    found: set[str] = set()
    waiting = {package for package in defining if package not in sys.stdlib_module_names}
    while waiting:
        package = waiting.pop()
        found.add(package)
        waiting |= imported_from_beside(package) - found
    return found


@functools.cache
def imported_from_beside(package: str) -> frozenset[str]:
    """Return the top-level names that a package's sources import and that lie in the same folder as it."""
    if package == __package__:
        return frozenset()
    try:
        specification = importlib.util.find_spec(package)
    except (ImportError, ValueError):  # a module that was made by hand
        return frozenset()
    if specification is None or getattr(specification.loader, "archive", None) is not None:
        return frozenset()
    folders = [Path(folder) for folder in specification.submodule_search_locations or []]
    if folders:
        files = [file for folder in folders for file in folder.rglob("*.py")]
        beside = {folder.parent for folder in folders}
    else:
        files = [Path(specification.origin)] if specification.has_location and specification.origin else []
        beside = {file.parent for file in files}
    names = {name for file in files for name in _imports(file)} - {package}
    return frozenset(name for name in names if any(_lies_in(folder, name) for folder in beside))


def _lies_in(folder: Path, name: str) -> bool:
    is_there = (folder / f"{name}.py").is_file() or (folder / name / "__init__.py").is_file()
    return is_there and folder.name not in INSTALLED and name not in sys.stdlib_module_names


def _imports(file: Path) -> Iterator[str]:
    """Yield the top-level names that a source file imports; none where it is no Python."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            yield node.module.partition(".")[0]

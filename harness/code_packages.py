"""Which packages and modules the code of a plugin lies in: a change to any of them changes its cases."""

import ast
import functools
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib.machinery import ModuleSpec
from itertools import islice
from pathlib import Path

from harness.code_places import place_of
from harness.digest import INSTALLED, files_below, folders_of
from harness.plugins import modules_of

MOST_FILES = 500
"""Python files of a package that counts because it is named; more are a library, such as PyTorch."""
PLACE = re.compile(r"([A-Za-z_]\w*)(\.\w+)*:\w*")
"""How a text names a function that is loaded later, `package.module:function`, or the beginning of that."""


def code_packages(plugin: object) -> set[str]:
    """Return the packages of a plugin's entry point, class and bases, and those that their code names.

    An entry point may be a function that makes an object of a class of another package.

    Code names what it imports, also by `import_module`, and what a loader, `package.module:function`, is in.
    What is named and lies where packages are installed does not count, nor does the standard library, nor a
    package of more than `MOST_FILES` files: these have versions.
    """
    defining = {base.__module__ for base in type(plugin).__mro__} | modules_of(plugin)
    packages = {module.partition(".")[0] for module in defining}
    return reached_packages(package for package in packages if package not in sys.stdlib_module_names)


def reached_packages(packages: Iterable[str]) -> set[str]:
    """Return packages, and those that their code names, see `code_packages`."""
    reached: set[str] = set()
    waiting = set(packages)
    while waiting:
        package = waiting.pop()
        reached.add(package)
        waiting |= named_packages(package) - reached
    return reached


def loaded_modules(packages: Collection[str]) -> dict[str, ModuleSpec | None]:
    """Return of each module of packages that is imported what it was loaded by, which a reload replaces."""
    return {
        name: getattr(module, "__spec__", None)
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] in packages
    }


def are_as_loaded(modules: Mapping[str, ModuleSpec | None]) -> bool:
    """Whether no module of what `loaded_modules` returned has been loaded again since, or removed."""
    return all(
        name in sys.modules and getattr(sys.modules[name], "__spec__", None) is specification
        for name, specification in modules.items()
    )


def named_packages(package: str) -> frozenset[str]:
    """Return the top-level packages that a package's sources name now and that are not installed."""
    if package == __package__:
        return frozenset()
    specification = place_of(package)
    if specification is None or getattr(specification.loader, "archive", None) is not None:
        return frozenset()
    folders = folders_of(specification)
    files = list(_files_of(folders))
    if not folders and specification.has_location and specification.origin:
        files = [Path(specification.origin)]
    names = {name for file in files for name in names_now(file)} - {package}
    return frozenset(filter(_is_source, names))


def _is_source(name: str) -> bool:
    """Return whether a name is that of code which is neither installed, nor Python's own, nor a library."""
    if name in sys.stdlib_module_names:
        return False
    specification = place_of(name)
    if specification is None:
        return False
    folders = folders_of(specification)  # also of a package without __init__.py
    file = specification.origin if specification.has_location else None
    return _is_followed(folders, file)


@functools.cache
def _is_followed(folders: tuple[str, ...], file: str | None) -> bool:
    """Return whether code in these folders, and in this file, is neither installed nor a library.

    Of a package without `__init__.py` some folders may be installed and others not: it counts as soon as one
    with Python in it is not.
    """
    if file is not None and is_installed(file):
        return False
    own = [folder for folder in folders if not is_installed(folder)]
    if file is None and len(own) < len(folders) and not any(_files_of(own)):
        return False
    return bool(own or file) and not is_library(folders)


def is_library(folders: Iterable[str]) -> bool:
    """Return whether a package of these folders has too many files to be hashed because it is named."""
    return len(list(islice(_files_of(folders), MOST_FILES + 1))) > MOST_FILES


def is_installed(place: str) -> bool:
    """Return whether a file or folder lies where packages are installed, which have versions."""
    return not {*Path(place).parts}.isdisjoint(INSTALLED)


def _files_of(folders: Iterable[str]) -> Iterator[Path]:
    return (file for folder in folders for file in _modules_below(Path(folder)))


def _modules_below(folder: Path) -> Iterator[Path]:
    return (file for file in files_below(folder) if file.suffix == ".py")


def names_now(file: Path) -> frozenset[str]:
    """Return the top-level names that a source file imports or loads, read again once it has changed."""
    try:
        state = file.stat()
    except OSError:
        return frozenset()
    return _names_of(file, state.st_mtime_ns, state.st_size)


@functools.cache
def _names_of(file: Path, time: int, size: int) -> frozenset[str]:
    return frozenset(_names(file))


def _names(file: Path) -> Iterator[str]:
    """Yield the top-level names that a source file imports or loads; none where it is no Python."""
    try:
        source = file.read_bytes()
    except OSError:
        return
    yield from (name.partition(".")[0] for level, name in named_modules(source) if level == 0)


def named_modules(source: bytes | str) -> Iterator[tuple[int, str]]:
    """Yield (level, name) of all that a source imports or loads, and of names also what may be modules.

    A level above 0 is that of a relative import, from whose package the name goes on.  Nothing where the
    source is no Python.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((0, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            yield node.level, module
            yield from ((node.level, f"{module}.{alias.name}".lstrip(".")) for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            place = PLACE.fullmatch(node.value)
            yield from [] if place is None else [(0, place[0].partition(":")[0])]
        elif isinstance(node, ast.Call):
            yield from _imported_by_call(node)


def _imported_by_call(call: ast.Call) -> Iterator[tuple[int, str]]:
    """Yield what a call of `import_module` or `__import__` names as a text."""
    function = call.func
    called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    given = call.args[0] if call.args else None
    name = given.value if isinstance(given, ast.Constant) else None
    if called in ("import_module", "__import__") and isinstance(name, str):
        yield len(name) - len(name.lstrip(".")), name.lstrip(".")

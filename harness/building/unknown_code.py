"""Code that a plugin loads while it builds, and that its content key does not know.

The code of a plugin is found by reading it (`harness.code_packages`): what it imports by a name that is
computed, or from a folder that `build` itself puts on the path, is not seen so.  An edit of that would be
answered from the cache.  What a process has really loaded for a plugin is seen here, and its cases fail.
"""

import contextlib
import functools
import importlib.metadata
import os
import re
import sys
import sysconfig
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from platformdirs import user_cache_dir

from harness import plugins
from harness.artifact.cache import cache_root
from harness.code_packages import code_packages, is_installed, is_library, names_now
from harness.code_places import place_of
from harness.digest import BUILT, OWN_PACKAGE, folders_of, sources_of
from harness.errors import PluginError
from harness.plurals import counted
from harness.printable import printable
from harness.problem.case import Case

_waiting: dict[frozenset[str], set[str]] = {}
"""Modules by the plugin for which this process has loaded them, of which nothing was said yet."""
_unknown: dict[frozenset[str], dict[str, Path]] = {}
"""Those of them that no key knows, and their files: a folder that is on the path since stays unknown."""


@contextmanager
def noted(case: Case) -> Iterator[None]:
    """Note what is loaded in here as loaded for the case's plugin."""
    before = set(sys.modules)
    try:
        yield
    finally:
        plugin = _plugin_packages(case)
        if plugin:
            _waiting.setdefault(plugin, set()).update(sys.modules.keys() - before)


@contextmanager
def only_known_code(case: Case, cache: Path) -> Iterator[None]:
    """Raise `PluginError` at the end if this process has loaded code of the case's plugin that no key knows.

    What lies in the cache was generated.
    """
    plugin = _plugin_packages(case)
    if not plugin:
        yield
        return
    with noted(case):
        variant, target = plugins.variant(case.variant), plugins.target(case.target)
        variant.supports(case.problem, case.target)  # as before the key's, since it may import, too
        packages = code_packages(variant) | code_packages(target)
        yield
    unknown = _unknown.setdefault(plugin, {})
    unknown.update(_unknown_among(_waiting.pop(plugin, set()), plugin, packages - {OWN_PACKAGE}, cache))
    if unknown:
        raise PluginError(_message(case, unknown))


def _plugin_packages(case: Case) -> frozenset[str]:
    """Return the packages that declare a case's variant, or else its target; none where both are built in."""
    for variants, targets in (([case.variant], []), ([], [case.target])):
        with contextlib.suppress(KeyError):  # an unknown name, of which others tell
            if packages := plugins.packages_of(variants, targets) - {OWN_PACKAGE}:
                return frozenset(packages)
    return frozenset()


def _message(case: Case, unknown: Mapping[str, Path]) -> str:
    name, file = min(unknown.items())
    others = f", and {counted(len(unknown) - 1, 'other module')}" if len(unknown) > 1 else ""
    return printable(
        f"variant {case.variant!r} on {case.target}: it loads the module {name} ({file}){others}, which the "
        "content key does not know: an edit would go unnoticed; import it by its name, from a folder that is "
        "on the path when the plugin's module has been imported, or put it into the plugin's own folder"
    )


def _unknown_among(
    names: Collection[str], plugin: Collection[str], packages: Collection[str], cache: Path
) -> dict[str, Path]:
    """Return the modules that are code of a plugin and in no file that is hashed, with their files."""
    generated = _folders_of_generated_code(cache)
    files = {name: file for name in names if (file := _file_of(name, generated)) is not None}
    if not files:
        return {}
    hashed = _Hashed(packages)
    others = {name: file for name, file in files.items() if not hashed.has(file)}
    return {
        name: file
        for name, file in others.items()
        if _is_own(_top(name), plugin, packages) and (_top(name) in packages or not _is_compiled(file))
    }


def _is_compiled(file: Path) -> bool:
    """Whether a file is what a compiler leaves; of another package than a plugin's it was generated."""
    return file.suffix not in (".py", ".zip")


def _file_of(name: str, generated: Collection[Path]) -> Path | None:
    """Return the file, or zip file, of a loaded module that may be somebody's own code, or None."""
    if _top(name) in sys.stdlib_module_names or _top(name) == OWN_PACKAGE:
        return None
    attributes = _attributes(name)
    loader = getattr(attributes.get("__spec__"), "loader", None)
    place = getattr(loader, "archive", None) or attributes.get("__file__")
    if not isinstance(place, str) or is_installed(place) or not os.path.isfile(place):
        return None
    file = Path(place).resolve()
    if any(file.is_relative_to(folder) for folder in _folders_of_others()):
        return None
    is_built = file.suffix != ".py" and BUILT in file.parts
    return None if is_built or any(map(file.is_relative_to, generated)) else file


@functools.cache
def _folders_of_others() -> tuple[Path, ...]:
    """Return where Python's own code lies, and that of this package, which is also `__mp_main__`."""
    return Path(sysconfig.get_path("stdlib")).resolve(), Path(__file__).resolve().parents[1]


def _folders_of_generated_code(cache: Path) -> list[Path]:
    """Return where libraries leave the code that they generate: in temporary folders and in caches."""
    folders = [Path(tempfile.gettempdir()), Path(user_cache_dir()), cache, cache_root()]
    with contextlib.suppress(RuntimeError, OSError):  # no home folder is known, or it cannot be read
        home = Path.home()
        folders += [home / entry.name for entry in os.scandir(home) if entry.name.startswith(".")]
    return [folder.resolve() for folder in folders]


class _Hashed:
    """The files that a content key covers, with what is compiled beside them."""

    def __init__(self, packages: Collection[str]) -> None:
        sources = sources_of(packages)
        self._files = {path.resolve() for _, path in sources}
        self._folders = {folder.resolve() for folder, path in sources}

    def has(self, file: Path) -> bool:
        if file in self._files:
            return True
        return file.suffix != ".py" and any(map(file.is_relative_to, self._folders))


def _is_own(top: str, plugin: Collection[str], packages: Collection[str]) -> bool:
    """Return whether a package, or module, is code of a plugin's own, and nobody else's."""
    providers = _providers()
    if providers is None:
        return top in packages
    if set(providers.get(top, ())).difference(*(providers.get(package, ()) for package in plugin)):
        return False
    return top in packages or not (_is_library(top) or _is_of_a_tool(top, frozenset(packages)))


@functools.cache
def _providers() -> Mapping[str, Sequence[str]] | None:
    """Return the distributions of each installed package, None where one's files are damaged."""
    try:
        return importlib.metadata.packages_distributions()
    except Exception:  # some distribution's, which this does not name
        return None


def _is_library(top: str) -> bool:
    specification = place_of(top)
    return specification is not None and is_library(folders_of(specification))


@functools.cache
def _is_of_a_tool(top: str, packages: frozenset[str]) -> bool:
    """Return whether this package, or an installed one that is no plugin's, imports it: somebody's library.

    `packages` are those of the plugin that has loaded it.
    """
    statement = re.compile(rb"\b(?:from|import)\s+" + re.escape(top.encode()) + rb"\b")
    of_plugins = (packages | plugins.packages()) - {OWN_PACKAGE}
    for name in list(sys.modules):
        place = _attributes(name).get("__file__")
        if not isinstance(place, str) or not place.endswith(".py") or _top(name) in of_plugins:
            continue
        if _top(name) != OWN_PACKAGE and not is_installed(place):
            continue
        with contextlib.suppress(OSError):
            if statement.search(Path(place).read_bytes()) and top in names_now(Path(place)):
                return True
    return False


def _attributes(name: str) -> Mapping[str, Any]:
    """Return what a loaded module has; one that waits for its first use is not loaded by that."""
    try:
        attributes: dict[str, Any] = object.__getattribute__(sys.modules[name], "__dict__")
    except (AttributeError, KeyError):
        return {}
    return attributes


def _top(name: str) -> str:
    return name.partition(".")[0]

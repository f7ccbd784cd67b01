"""Modules that this process has imported, and whether their files are others by now.

Python keeps nothing of the file that a module was made of, so of each module that is of interest its file is
noted when it is seen first, and again once the module was reloaded.  A module whose file was edited before it
was seen is told by what Python compiled as it imported it, where it could keep that.
"""

import marshal
import os
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path

from harness.errors import PluginError
from harness.source_meaning import compiled, means_what_is_imported

COMPILED_HEADER = 16
"""Bytes before the code in what Python compiles: the version, the kind, and time and size of the source."""


@dataclass(frozen=True)
class _Seen:
    """The file of a module as it was when the module, as it was loaded then, was seen first."""

    specification: ModuleSpec
    """What the module was loaded by, which a reload replaces."""
    stamp: tuple[int, int] | None
    """Time and size of the file, None where there is none."""
    content: bytes | None
    """What was in it; None where that was not what the module was made of."""


_seen: dict[str, _Seen] = {}
"""Of each module that was looked at, by name."""


def note_modules(packages: Collection[str]) -> None:
    """Note the files of all modules of packages that are imported now, as early as possible."""
    for _ in _noted(packages):
        pass


def edited_modules(packages: Collection[str]) -> list[str]:
    """Return those modules of packages whose file is another than what this process has imported.

    Files that differ in comments or layout alone are not, nor are those that are again what they were, nor
    those whose new functions were put into the module, see `harness.source_meaning`.
    """
    return sorted(name for name, seen in _noted(packages) if _is_edited(name, seen))


def require_as_imported(packages: Collection[str]) -> None:
    """Raise `PluginError` where modules of packages were edited since this process has imported them.

    A worker would build with the new code, and this process load and run with the old.
    """
    edited = edited_modules(packages)
    if not edited:
        return
    its, it = ("its", "it") if len(edited) == 1 else ("their", "them")
    raise PluginError(
        f"{', '.join(edited)}: {its} code was edited since this process imported {it}; "
        f"reload {it} (importlib.reload), and then what imports names from {it}, or start a new process"
    )


def _noted(packages: Collection[str]) -> Iterator[tuple[str, _Seen]]:
    """Yield each imported module of packages that lies in a file, and what is known of it."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] not in packages:
            continue
        specification = _specification(module)
        if specification is None or not specification.has_location or specification.origin is None:
            continue
        known = _seen.get(name)
        if known is None or known.specification is not specification:
            known = _seen[name] = _seen_now(specification)
        yield name, known


def _specification(module: object) -> ModuleSpec | None:
    """Return where a module was loaded from; a lazy one is not loaded for that."""
    try:
        found = object.__getattribute__(module, "__spec__")
    except AttributeError:
        return None
    return found if isinstance(found, ModuleSpec) else None


def _seen_now(specification: ModuleSpec) -> _Seen:
    file = Path(str(specification.origin))
    stamp = _stamp(file)
    content = None if stamp is None else _content(file)
    if stamp is not None and content is not None and _was_compiled_of_another(specification, stamp, content):
        content = None
    return _Seen(specification, stamp, content)


def _is_edited(name: str, seen: _Seen) -> bool:
    """Return whether a module's file is another than what the module was made of; never where it had none."""
    if seen.stamp is None:
        return False
    if seen.content is None:
        return True
    file = Path(str(seen.specification.origin))
    if _stamp(file) == seen.stamp:
        return False
    content = _content(file)
    if content == seen.content:
        return False
    return content is None or not means_what_is_imported(sys.modules.get(name), seen.content, content)


def _stamp(file: Path) -> tuple[int, int] | None:
    """Return time and size of a file, None where there is none, as in a zip file."""
    try:
        state = file.stat()
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size


def _content(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except OSError:
        return None


def _was_compiled_of_another(specification: ModuleSpec, stamp: tuple[int, int], content: bytes) -> bool:
    """Return whether Python, as it imported a module, compiled another source than there is now.

    False where it may not have kept what it compiled.
    """
    file = specification.cached
    if type(specification.loader) is not SourceFileLoader or file is None or sys.dont_write_bytecode:
        return False
    kept = _content(Path(file)) if os.access(Path(file).parent, os.W_OK) else None
    if kept is None or len(kept) < COMPILED_HEADER:
        return False
    kind, time_s, size = (int.from_bytes(kept[start : start + 4], "little") for start in (4, 8, 12))
    if kind != 0 or (time_s, size) == (stamp[0] // 10**9 & 0xFFFFFFFF, stamp[1] & 0xFFFFFFFF):
        return False
    try:
        return bool(marshal.loads(kept[COMPILED_HEADER:]) != compiled(content))
    except (EOFError, ValueError, TypeError, SyntaxError, RecursionError):
        return True

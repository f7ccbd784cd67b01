"""Variants, targets and figures, found through entry points and loaded only when asked for.

The built-in ones are declared in this distribution's own `pyproject.toml`; a third party declares more in
its own.  A plugin that cannot be imported, or whose name others declare as well, hurts only those who ask for
it: their cases fail to build.
"""

import functools
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, TypeAdapter

from harness.errors import HarnessError, InputError, PluginError, message_of, one_line
from harness.plurals import counted
from harness.validation import shown, unknown_name

if TYPE_CHECKING:
    from harness.targets.base import Target
    from harness.variants.base import Variant

SETTINGS = {"variant": "parameters", "target": "options", "figure": "settings"}
"""By kind, the attribute that holds the model of a plugin's settings: what has none is no such plugin."""
KINDS = {"variant": "harness.variants", "target": "harness.targets", "figure": "harness.figures"}

CHIPS = TypeAdapter(dict[str, str])
"""Each chip of a target and what it means."""

OBJECT = re.compile(r"[\w.]+\s*:\s*[\w.]+(\s*\[.*\])?")
"""How an entry point says where a plugin is: `module:Class`."""


def _declared_entries(kind: str) -> Iterable[EntryPoint]:
    """Return the entry points of one kind; raises `InputError` where some distribution's cannot be read."""
    try:
        return entry_points(group=KINDS[kind])
    except Exception as error:
        raise InputError(f"entry points of an installed distribution cannot be read: {error}") from error


@functools.cache
def _declarations(kind: str) -> dict[str, tuple[EntryPoint, ...]]:
    """Return by name the entry points of one kind that have different values."""
    by_name: dict[str, dict[str, EntryPoint]] = {}
    for entry in _declared_entries(kind):
        by_name.setdefault(entry.name, {}).setdefault(entry.value, entry)
    return {name: tuple(entries.values()) for name, entries in sorted(by_name.items())}


@functools.cache
def _registered(kind: str) -> dict[str, EntryPoint]:
    """Return the entry points of one kind by name; of several with one name the first."""
    return {name: entries[0] for name, entries in _declarations(kind).items()}


def _require_one_declaration(kind: str, name: str) -> None:
    """Raise `PluginError` for a name that several distributions declare with different values."""
    entries = _declarations(kind).get(name, ())
    if len(entries) > 1:
        places = " and by ".join(map(_declared_by, entries))
        raise PluginError(
            f"{kind} {name!r} is declared {counted(len(entries), 'time')}: by {places}; keep one"
        )


def _declared_by(entry: EntryPoint) -> str:
    """Return which distribution declares an entry point, and what it declares."""
    owner = f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else "a distribution"
    return f"{owner} ({entry.value})"


def names(kind: str) -> list[str]:
    """Return the names of all plugins of a kind (`variant`, `target`, `figure`) without importing them."""
    return list(_registered(kind))


def suggested(kind: str) -> list[str]:
    """Return the names that messages list: without those of variants that say they are not to be.

    Variants are imported for that, which is cheap; one that cannot be is offered.
    """
    return [name for name in names(kind) if kind != "variant" or _is_suggested(name)]


def unknown(kind: str, name: object) -> str:
    """Return the message for a name that no plugin of a kind has.

    Whoever writes a name that is close to one that is not listed means that.
    """
    return unknown_name(kind, name, suggested(kind), names(kind))


def _is_suggested(variant_name: str) -> bool:
    try:
        return bool(getattr(variant(variant_name), "is_suggested", True))
    except HarnessError:
        return True


def name_of(target: str) -> str:
    """Return a target's own name, `cpu` of `cpu:avx2`."""
    return target.partition(":")[0]


def chip_of(target: str) -> str | None:
    """Return the chip of a target's name, `avx2` of `cpu:avx2`, or None."""
    return target.partition(":")[2] or None


def packages() -> set[str]:
    """Return the top-level packages that declare variants or targets."""
    return packages_of(names("variant"), names("target"))


def packages_of(variants: Iterable[str], targets: Iterable[str]) -> set[str]:
    """Return the top-level packages that these variants and targets come from."""
    entries = [_registered("variant")[name] for name in variants]
    entries += [_registered("target")[name_of(name)] for name in targets]
    places = (entry.value for entry in entries if OBJECT.fullmatch(entry.value))
    return {place.partition(":")[0].partition(".")[0] for place in places}


def plugin_versions(own: str) -> dict[str, str]:
    """Return name and version of each installed distribution that declares a plugin, `own` left out."""
    entries = (entry for kind in KINDS for entry in _declared_entries(kind))
    versions = {entry.dist.name: entry.dist.version for entry in entries if entry.dist is not None}
    return {name: version for name, version in sorted(versions.items()) if name != own}


def check_name(kind: str, name: str) -> None:
    """Raise `InputError` unless a plugin of this kind and name is declared."""
    if not isinstance(name, str) or name not in names(kind):
        raise InputError(unknown(kind, name))


def check_target(name: str) -> None:
    """Raise `InputError` unless a target has this name, and a chip of it what follows a colon.

    Raises `PluginError` if the target cannot be loaded, or cannot say its chips.
    """
    check_name("target", name_of(name) if isinstance(name, str) else name)
    _, colon, chip = name.partition(":")
    if colon and chip not in (known := chips(name)):
        raise InputError(unknown_name(f"chip of {name_of(name)}", chip, known))


def chips(target_name: str) -> dict[str, str]:
    """Return each chip of a target and what it means.

    Raises `PluginError` if the target cannot be loaded, or cannot say its chips.
    """
    with asked("target", name_of(target_name), "its chips"):
        return CHIPS.validate_python(target(target_name).chips(), strict=True)


def load(kind: str, name: str) -> Any:
    """Import and instantiate a plugin; again when its module was reloaded, as in a notebook.

    Raises `PluginError` for one that cannot be imported, for one whose code fails, whatever it raises, for
    what is no plugin of this kind, and for a name that several distributions declare.
    """
    known = _made.get((kind, name))
    if known is not None and known[0] is _defined(kind, name):
        return known[1]
    made = _make(kind, name)
    _made[kind, name] = _defined(kind, name), made
    return made


_made: dict[tuple[str, str], tuple[object, Any]] = {}
"""What each plugin's module defined when it was made, and what was made of it, by kind and name."""


def _defined(kind: str, name: str) -> object:
    """Return what a plugin's module defines now where its entry point says; None before it is imported."""
    entry = _registered(kind)[name]
    defined: object = sys.modules.get(entry.module)
    for part in entry.attr.split("."):
        defined = getattr(defined, part, None)
    return defined


def _make(kind: str, name: str) -> Any:
    """Import and instantiate a plugin, see `load`."""
    check_name(kind, name)
    _require_one_declaration(kind, name)
    entry, declared = _registered(kind)[name], _declared(kind, name)
    if not OBJECT.fullmatch(entry.value):
        raise PluginError(f"{kind} {name!r}: found {entry.value!r}, expected module:Class")
    with _failures_told(f"{declared} cannot be imported"):
        plugin = entry.load()
    with _failures_told(f"{declared} cannot be made"):
        made = plugin()
        model = getattr(made, SETTINGS[kind], None)
    if model is None:
        raise PluginError(f"{declared}: {type(made).__name__} is no {kind}: it has no {SETTINGS[kind]}")
    if not isinstance(model, type) or not issubclass(model, BaseModel):
        raise PluginError(
            f"{declared}: {type(made).__name__}.{SETTINGS[kind]}: found {shown(model)}, "
            "expected a class, a model of pydantic's with a field for each"
        )
    return made


@contextmanager
def _failures_told(what: str) -> Iterator[None]:
    """Raise `PluginError`, whose line begins with `what`, for whatever a plugin's own code raises in here.

    Errors that the harness raises on purpose stay.
    """
    try:
        yield
    except HarnessError:
        raise
    except Exception as error:
        reason = message_of(error) if isinstance(error, ImportError) else one_line(error)
        raise PluginError(f"{what}: {reason}") from error


@contextmanager
def asked(kind: str, name: str, what: str) -> Iterator[None]:
    """Raise `PluginError` that names a plugin for whatever its own code raises in here.

    `what` says what it is asked for, `what it supports`.  Errors that the harness raises on purpose stay.
    """
    with _failures_told(f"{_declared(kind, name)} cannot say {what}"):
        yield


def _declared(kind: str, name: str) -> str:
    """Return what a plugin is called in messages: its name, and where it is."""
    entry = _registered(kind).get(name)
    return f"{kind} {name!r}" if entry is None else f"{kind} {name!r} ({entry.value})"


def variant(name: str) -> "Variant":
    """Return the variant of this name."""
    return load("variant", name)


def target(name: str) -> "Target":
    """Return the target of this name; a chip after a colon is ignored."""
    return load("target", name_of(name))

"""Variants, targets and figures, found through entry points and loaded only when asked for.

The built-in ones are declared in this distribution's own `pyproject.toml`; a third party declares more in
its own.  A plugin that cannot be imported, or whose name others declare as well, hurts only those who ask for
it: their cases fail to build.
"""

import functools
import re
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from enum import Enum
from importlib.metadata import Distribution, EntryPoint, distributions, entry_points
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

from harness.errors import HarnessError, InputError, PluginError, message_of, one_line, raise_interrupt
from harness.plurals import counted
from harness.printable import printable
from harness.storage.streams import tell
from harness.validation import shown, unknown_name

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from harness.targets.base import Target
    from harness.variants.base import Variant

SETTINGS = {"variant": "parameters", "target": "options", "figure": "settings"}
"""By kind, the attribute that holds the model of a plugin's settings: what has none is no such plugin."""
KINDS = {"variant": "harness.variants", "target": "harness.targets", "figure": "harness.figures"}

OWN_DISTRIBUTION = "attention-harness"
"""That which declares the built-in plugins."""

ONE_VALUE = "one number, truth value or text: a case holds nothing else"
"""What a setting of a variant or a target is."""

OBJECT = re.compile(r"[\w.]+\s*:\s*[\w.]+(\s*\[.*\])?")
"""How an entry point says where a plugin is: `module:Class`."""


def _declared_entries(kind: str) -> Iterable[EntryPoint]:
    """Return the entry points of one kind, without those of distributions whose files are damaged."""
    group = KINDS[kind]
    try:
        return entry_points(group=group)
    except Exception:  # some distribution's, which this does not name
        return _readable_entries(group)


def _readable_entries(group: str) -> Iterator[EntryPoint]:
    """Yield the entry points of a group, of several distributions of one name those of the first.

    Of each whose entry points cannot be read a line is told.
    """
    seen: set[str] = set()
    for distribution in distributions():
        name = _described(distribution)[0]
        if name is not None and name in seen:
            continue
        seen |= {name} if name is not None else set()
        try:
            found = list(distribution.entry_points.select(group=group))
        except Exception as error:
            where = f"{name or 'a distribution'} in {distribution.locate_file('')}"
            _tell_once(f"{where}: its entry points cannot be read: {one_line(error)}; reinstall or remove it")
            continue
        yield from found


def _described(distribution: Distribution) -> tuple[str | None, str | None]:
    """Return name and version of an installed distribution, None for what its files do not say."""
    try:
        metadata = distribution.metadata
        return metadata["Name"], metadata["Version"]
    except Exception:  # there is no such file, or it cannot be read
        return None, None


@functools.cache
def _tell_once(line: str) -> None:
    tell(f"harness: {printable(line)}")


@functools.cache
def _declarations(kind: str) -> dict[str, tuple[EntryPoint, ...]]:
    """Return by name the entry points of one kind that have different values, the built-in one first."""
    found: dict[str, dict[str, EntryPoint]] = {}
    for entry in _declared_entries(kind):
        found.setdefault(entry.name, {}).setdefault(entry.value, entry)
    return {name: _built_in_first(entries.values()) for name, entries in sorted(found.items())}


@functools.cache
def _registered(kind: str) -> dict[str, EntryPoint]:
    """Return the entry points of one kind by name; of several with one name the first."""
    return {name: entries[0] for name, entries in _declarations(kind).items()}


def _require_one_declaration(kind: str, name: str) -> None:
    """Raise `PluginError` for a name that several distributions declare with different values.

    A built-in plugin stays what its name means, and a line is told of what declares the name, too.
    """
    first, *others = _declarations(kind).get(name, (None,))
    if first is None or not others:
        return
    if _is_built_in(first):
        for other in others:
            _tell_once(f"{kind} {name!r} is the built-in one; not used: that of {_declared_by(other)}")
        return
    places = " and by ".join(map(_declared_by, (first, *others)))
    raise PluginError(
        f"{kind} {name!r} is declared {counted(len(others) + 1, 'time')}: by {places}; keep one"
    )


def _built_in_first(entries: Collection[EntryPoint]) -> tuple[EntryPoint, ...]:
    if len(entries) == 1:  # whose distribution need not be read for that
        return tuple(entries)
    return tuple(sorted(entries, key=lambda entry: not _is_built_in(entry)))


def _is_built_in(entry: EntryPoint) -> bool:
    return entry.dist is not None and _described(entry.dist)[0] == OWN_DISTRIBUTION


def _declared_by(entry: EntryPoint) -> str:
    """Return which distribution declares an entry point, where that lies, and what it declares."""
    if entry.dist is None:
        return f"a distribution ({entry.value})"
    name, version = _described(entry.dist)
    words = " ".join(filter(None, [name or "a distribution", version]))
    return f"{words} in {entry.dist.locate_file('')} ({entry.value})"


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
    except BaseException as error:  # a plugin's own code
        raise_interrupt(error)
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
    """Return name and version of each installed distribution that declares a plugin, `own` left out.

    Of one that does not say them a line is told.
    """
    others = {}
    for kind in KINDS:
        for entry in _declared_entries(kind):
            if entry.dist is None:
                continue
            name, version = _described(entry.dist)
            if name is None or version is None:
                where = f"{name or 'a distribution'} in {entry.dist.locate_file('')}"
                found = f"{where}, which declares the {kind} {entry.name!r}"
                _tell_once(f"{found}: its name or its version is missing; reinstall or remove it")
            elif name != own:
                others[name] = version
    return dict(sorted(others.items()))


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
    made = target(target_name)
    try:
        chips = dict(made.chips())
        for chip, meaning in chips.items():
            if not (isinstance(chip, str) and isinstance(meaning, str)):
                raise TypeError(f"found {chip!r}: {meaning!r}, expected a name and what it means, as texts")
        return chips
    except BaseException as error:
        raise_interrupt(error)
        declared = _declared("target", name_of(target_name))
        raise PluginError(f"{declared} cannot say its chips: {one_line(error)}") from error


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
    from pydantic import BaseModel

    check_name(kind, name)
    _require_one_declaration(kind, name)
    entry, declared = _registered(kind)[name], _declared(kind, name)
    if not OBJECT.fullmatch(entry.value):
        raise PluginError(f"{kind} {name!r}: found {entry.value!r}, expected module:Class")
    try:
        plugin = entry.load()
    except (ImportError, AttributeError) as error:
        raise PluginError(f"{declared} cannot be imported: {message_of(error)}") from error
    except BaseException as error:
        raise_interrupt(error)
        raise PluginError(f"{declared} cannot be imported: {one_line(error)}") from error
    try:
        made = plugin()
        model = getattr(made, SETTINGS[kind], None)
    except BaseException as error:
        raise_interrupt(error)
        raise PluginError(f"{declared} cannot be made: {one_line(error)}") from error
    if model is None:
        raise PluginError(f"{declared}: {type(made).__name__} is no {kind}: it has no {SETTINGS[kind]}")
    if not isinstance(model, type) or not issubclass(model, BaseModel):
        found = f"the class {model.__name__}" if isinstance(model, type) else f"a {type(model).__name__}"
        raise PluginError(
            f"{declared}: {type(made).__name__}.{SETTINGS[kind]} is {found}; "
            "expected a class, a model of pydantic's with a field for each"
        )
    for field, info in model.model_fields.items() if kind != "figure" else ():
        if (wrong := _why_unusable(field, info)) is not None:
            raise PluginError(f"{declared}: {model.__name__}.{field}: {wrong}")
    return made


def _why_unusable(name: str, field: "FieldInfo") -> str | None:
    """Return what keeps a field of a variant's or target's settings from being set, None if nothing does.

    A case holds numbers, truth values and texts; a list of these, where it is set, is an axis of the sweep.
    """
    if (alias := field.alias or field.validation_alias or name) != name:
        return f"found the alias {shown(alias)}, expected none: a setting is called like its field"
    value = field.default
    is_plain = isinstance(value, int | float | str)
    if _is_of_several(type(value)) and not is_plain:
        return f"found the default {shown(value)}, expected {ONE_VALUE}"
    kinds = [kind for kind in _alternatives(field.annotation) if kind is not type(None)]
    if kinds and all(map(_is_of_several, kinds)):
        kind = field.annotation
        words = kind.__name__ if isinstance(kind, type) and not get_args(kind) else str(kind)
        return f"found the type {words}, expected {ONE_VALUE}"
    return None


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    """Return the types that a union is of, else the one type."""
    is_union = get_origin(annotation) in (Union, UnionType)
    return get_args(annotation) if is_union else (annotation,)


def _is_of_several(annotation: Any) -> bool:
    """Whether values of a type are no single ones of Python's: lists, tables, and what is NumPy's."""
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    kind = get_origin(annotation) or annotation
    if not isinstance(kind, type) or issubclass(kind, str | bytes):
        return False
    return (issubclass(kind, Collection) and not issubclass(kind, Enum)) or kind.__module__ == "numpy"


@contextmanager
def asked(kind: str, name: str, what: str) -> Iterator[None]:
    """Raise `PluginError` that names a plugin for whatever its own code raises in here.

    `what` says what it is asked for, `what it supports`.  Errors that the harness raises on purpose stay.
    """
    try:
        yield
    except HarnessError:
        raise
    except BaseException as error:
        raise_interrupt(error)
        raise PluginError(f"{_declared(kind, name)} cannot say {what}: {one_line(error)}") from error


def _declared(kind: str, name: str) -> str:
    """Return what a plugin is called in messages: its name, and where it is."""
    return f"{kind} {name!r} ({_registered(kind)[name].value})"


def variant(name: str) -> "Variant":
    """Return the variant of this name."""
    return load("variant", name)


def target(name: str) -> "Target":
    """Return the target of this name; a chip after a colon is ignored."""
    return load("target", name_of(name))

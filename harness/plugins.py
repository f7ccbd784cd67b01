"""Variants, targets and figures, found through entry points and loaded only when asked for.

The built-in ones are declared in this distribution's own `pyproject.toml`; a third party declares more in
its own.  A plugin that cannot be imported, or whose name others declare as well, hurts only those who ask for
it: their cases fail to build.
"""

import functools
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, TypeAdapter

from harness.system.errors import HarnessError, InputError, PluginError, message_of, one_line
from harness.system.validation import shown, unknown_name

if TYPE_CHECKING:
    from harness.targets.base import Target
    from harness.variants.base import Variant

SETTINGS = {"variant": "parameters", "target": "options", "figure": "settings"}
"""By kind, the attribute that holds the model of a plugin's settings: what has none is no such plugin."""
KINDS = {"variant": "harness.variants", "target": "harness.targets", "figure": "harness.figures"}

CHIPS = TypeAdapter(dict[str, str])


@functools.cache
def _declarations(kind: str) -> dict[str, tuple[EntryPoint, ...]]:
    """Return by name the entry points of one kind that have different values."""
    by_name: dict[str, dict[str, EntryPoint]] = {}
    for entry in entry_points(group=KINDS[kind]):
        by_name.setdefault(entry.name, {}).setdefault(entry.value, entry)
    return {name: tuple(entries.values()) for name, entries in sorted(by_name.items())}


@functools.cache
def _registered(kind: str) -> dict[str, EntryPoint]:
    """Return the entry points of one kind by name; of several with one name the first."""
    return {name: entries[0] for name, entries in _declarations(kind).items()}


def names(kind: str) -> list[str]:
    """Return the names of all plugins of a kind (`variant`, `target`, `figure`) without importing them."""
    return list(_registered(kind))


def suggested(kind: str) -> list[str]:
    """Return the names that messages list: without those of variants that say they are not to be."""
    return [name for name in names(kind) if kind != "variant" or _is_suggested(name)]


def unknown(kind: str, name: object) -> str:
    """Return the message for a name that no plugin of a kind has."""
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
    return {entry.value.partition(":")[0].partition(".")[0] for entry in entries}


def plugin_versions(own: str) -> dict[str, str]:
    """Return name and version of each installed distribution that declares a plugin, `own` left out."""
    entries = (entry for group in KINDS.values() for entry in entry_points(group=group))
    versions = {entry.dist.name: entry.dist.version for entry in entries if entry.dist is not None}
    return {name: version for name, version in sorted(versions.items()) if name != own}


def check_name(kind: str, name: str) -> None:
    """Raise `InputError` unless a plugin of this kind and name is declared."""
    if not isinstance(name, str) or name not in names(kind):
        raise InputError(unknown(kind, name))


def check_target(name: str) -> None:
    """Raise `InputError` unless a target has this name, and a chip of it what follows a colon."""
    check_name("target", name_of(name) if isinstance(name, str) else name)
    _, colon, chip = name.partition(":")
    if colon and chip not in (chip_names := chips(name)):
        raise InputError(unknown_name(f"chip of {name_of(name)}", chip, chip_names))


def chips(target_name: str) -> dict[str, str]:
    """Return each chip of a target and what it means; raises `PluginError` if the target cannot say it."""
    with asked("target", name_of(target_name), "its chips"):
        return CHIPS.validate_python(target(target_name).chips(), strict=True)


@functools.cache
def load(kind: str, name: str) -> Any:
    """Import and instantiate a plugin.

    Raises `PluginError` for one that cannot be imported, for one whose code fails, whatever it raises, for
    what is no plugin of this kind, and for a name that several distributions declare.
    """
    check_name(kind, name)
    entries = _declarations(kind).get(name, ())
    if len(entries) > 1:
        places = " and by ".join(f"{entry.dist and entry.dist.name} ({entry.value})" for entry in entries)
        raise PluginError(f"{kind} {name!r} is declared {len(entries)} times: by {places}; keep one")
    with guarded(kind, name, "cannot be imported"):
        plugin = _registered(kind)[name].load()
    with guarded(kind, name, "cannot be made"):
        made = plugin()
    model = getattr(made, SETTINGS[kind], None)
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise PluginError(
            f"{_declared(kind, name)}: {type(made).__name__} is no {kind}: {SETTINGS[kind]}: found "
            f"{shown(model)}, expected a class, a model of pydantic's with a field for each"
        )
    return made


@contextmanager
def guarded(kind: str, name: str, failure: str) -> Iterator[None]:
    """Raise `PluginError` that names a plugin for what its code raises in here but the harness's errors."""
    try:
        yield
    except HarnessError:
        raise
    except Exception as error:
        reason = message_of(error) if isinstance(error, ImportError) else one_line(error)
        raise PluginError(f"{_declared(kind, name)} {failure}: {reason}") from error


def asked(kind: str, name: str, what: str) -> AbstractContextManager[None]:
    """Return `guarded` around what a plugin is asked for, such as `what it supports`."""
    return guarded(kind, name, f"cannot say {what}")


def require(variant_name: str, member: str, answer: object, expected: Any, wanted: str = "") -> None:
    """Raise `PluginError` for what a variant's member must not answer."""
    if not isinstance(answer, expected):
        found, wanted = type(answer).__name__, wanted or expected.__name__
        raise PluginError(f"variant {variant_name!r}: {member}: found {found}, expected {wanted}")


def _declared(kind: str, name: str) -> str:
    entry = _registered(kind).get(name)
    return f"{kind} {name!r}" if entry is None else f"{kind} {name!r} ({entry.value})"


def supports(variant_name: str, problem: Any, target_name: str) -> bool:
    """Return whether a variant says that it supports a problem and target; one whose code fails does not."""
    try:
        with asked("variant", variant_name, "what it supports (supports)"):
            return variant(variant_name).supports(problem, target_name) is None
    except HarnessError:
        return False


def variant(name: str) -> "Variant":
    """Return the variant of this name."""
    return load("variant", name)


def target(name: str) -> "Target":
    """Return the target of this name; a chip after a colon is ignored."""
    return load("target", name_of(name))

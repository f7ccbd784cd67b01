"""Variants, targets and figures, found through entry points and loaded only when asked for.

The built-in ones are declared in this distribution's own `pyproject.toml`; a third party declares more in
its own.  A plugin that cannot be imported hurts only those who ask for it.
"""

import functools
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from harness.errors import HarnessError, InputError

if TYPE_CHECKING:
    from harness.targets.base import Target
    from harness.variants.base import Variant

KINDS = {"variant": "harness.variants", "target": "harness.targets", "figure": "harness.figures"}


@functools.cache
def _registered(kind: str) -> dict[str, EntryPoint]:
    """Return the entry points of one kind by name; a name declared twice is refused."""
    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=KINDS[kind]):
        if entry.name in found and found[entry.name].value != entry.value:
            raise HarnessError(
                f"{kind} {entry.name!r} is declared twice: {found[entry.name].value} and {entry.value}"
            )
        found[entry.name] = entry
    return dict(sorted(found.items()))


def names(kind: str) -> list[str]:
    """Return the names of all plugins of a kind (`variant`, `target`, `figure`) without importing them."""
    return list(_registered(kind))


def packages() -> set[str]:
    """Return the top-level packages that declare variants or targets."""
    entries = [*_registered("variant").values(), *_registered("target").values()]
    return {entry.value.partition(":")[0].partition(".")[0] for entry in entries}


def check_name(kind: str, name: str) -> None:
    """Raise `InputError` unless a plugin of this kind and name is declared."""
    if name not in _registered(kind):
        raise InputError(f"unknown {kind} {name!r}; expected one of {', '.join(names(kind))}")


@functools.cache
def load(kind: str, name: str) -> Any:
    """Import and instantiate a plugin."""
    check_name(kind, name)
    entry = _registered(kind)[name]
    try:
        plugin = entry.load()
    except (ImportError, AttributeError) as error:
        raise HarnessError(f"{kind} {name!r} ({entry.value}) cannot be imported: {error}") from error
    return plugin()


def variant(name: str) -> "Variant":
    """Return the variant of this name."""
    return load("variant", name)


def target(name: str) -> "Target":
    """Return the target of this name; a chip after a colon is ignored."""
    return load("target", name.partition(":")[0])

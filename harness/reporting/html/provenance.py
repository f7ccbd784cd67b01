"""The manifest of a run as a list of terms and what they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from harness.plurals import counted

if TYPE_CHECKING:
    from harness.results.manifest import Manifest

APART = ("source",)
"""Fields of a manifest that a page shows apart, since they are long."""


def entries(manifest: Manifest) -> list[tuple[str, str]]:
    """Return what a manifest says, by name; what it does not know is left out."""
    values = manifest.model_dump(mode="json", exclude=set(APART))
    values["left_out"] = manifest.left_out or None
    values["planned"] = None if manifest.planned is None else counted(len(manifest.planned), "case")
    return list(_entries(values, ""))


def _entries(values: Mapping[str, Any], before: str) -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        term = f"{before}{name.replace('_', ' ')}"
        if value is None or value in ([], {}):
            continue
        if isinstance(value, dict) and any(isinstance(part, dict | list) for part in value.values()):
            yield from _entries(value, f"{term} · ")
        elif isinstance(value, list) and any(isinstance(part, dict) for part in value):
            for number, part in enumerate(value, start=1):
                yield from _entries(part, f"{term} {number} · ")
        else:
            yield term, _written(value)


def _written(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_written(part)}" for name, part in value.items())
    if isinstance(value, list):
        return ", ".join(map(_written, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)

"""The line below every figure: machine, problem, code and date, so that a figure can stand alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from harness.reporting.frames import format_value, is_missing

if TYPE_CHECKING:
    import pandas as pd

    from harness.provenance import Manifest

SHORT_COMMIT = 7
MOST_VALUES = 4
"""More values of a column than this are given as a range."""

CAPTION_COLUMNS = {
    "threads": "threads {}",
    "dtype": "{}",
    "batch": "batch {}",
    "heads": "heads {}",
    "head_dim": "head dim {}",
}


def figure_caption(frame: pd.DataFrame, manifests: Sequence[Manifest]) -> str:
    """Return `CPU; threads 1; f32; batch 1; heads 16. harness 0.1.0, commit cd39bee, 2026-11-21. FLOPs: …`.

    What differs between the merged runs is listed.  The FLOP convention is left out where nothing was timed.
    """
    devices = _distinct(frame["device"]) or _distinct(manifest.device for manifest in manifests)
    words = [", ".join(devices)] if devices else []
    for column, pattern in CAPTION_COLUMNS.items():
        values = _values(frame, column)
        if values:
            words.append(pattern.format(values))
    sentences = ["; ".join(words)] if words else []
    if manifests:
        sentences.append("; ".join(_distinct(describe_code(manifest) for manifest in manifests)))
    if frame["time_s"].notna().any():
        sentences.append(f"FLOPs: {'; '.join(_distinct(frame['flop_convention']))}")
    return " ".join(f"{sentence}." for sentence in sentences)


def describe_code(manifest: Manifest) -> str:
    """Return version, commit and date of a run, `harness 0.1.0, commit cd39bee (modified), 2026-11-21`."""
    words = [f"harness {manifest.harness_version}"]
    if manifest.git_commit is not None:
        modified = " (modified)" if manifest.git_dirty else ""
        words.append(f"commit {manifest.git_commit[:SHORT_COMMIT]}{modified}")
    words.append(manifest.started[: len("2026-11-21")])
    return ", ".join(words)


def _distinct(values: Iterable[Any]) -> list[str]:
    return list(dict.fromkeys(str(value) for value in values if not is_missing(value)))


def _values(frame: pd.DataFrame, column: str) -> str:
    """Return the values of a column, as a list or as a range where there are many."""
    found = frame[column].dropna().unique().tolist()
    if len(found) > MOST_VALUES and not isinstance(found[0], str):
        return f"{format_value(min(found))} … {format_value(max(found))}"
    ordered = found if any(isinstance(value, str) for value in found) else sorted(found)
    return ", ".join(format_value(value) for value in ordered)

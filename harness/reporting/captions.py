"""The line below every figure: machine, problem, code and date, so that a figure can stand alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from harness.reporting.frames import RUN_COLUMNS, RunLabels, format_value, is_missing, run_names
from harness.reporting.measurement_notes import measurement_notes, peak_notes

if TYPE_CHECKING:
    import pandas as pd

    from harness.results.manifest import Manifest

SHORT_COMMIT = 7
MOST_VALUES = 4
"""More values of a column than this are given as a range."""

NOT_RECORDED = "not recorded"

CAPTION_COLUMNS = {
    "threads": "threads {}",
    "dtype": "{}",
    "batch": "batch {}",
    "heads": "heads {}",
    "head_dim": "head dim {}",
}


def figure_caption(
    frame: pd.DataFrame,
    manifests: Sequence[Manifest],
    labels: RunLabels | None = None,
    *,
    shows_rates: bool = True,
) -> str:
    """Return `CPU; threads 1; f32; batch 1; heads 16. harness 0.1.0, commit cd39bee, 2026-11-21. FLOPs: …`.

    What differs between merged runs is said of each of them, by its label or else by `run_names`.  Where
    something was timed, what is to be known of the measurement follows, and where the figure shows rates, the
    FLOP convention and what is to be known of the peak.
    """
    devices = _distinct(frame["device"].unique()) or _distinct(manifest.device for manifest in manifests)
    differing = _differing_columns(frame)
    shared = _words(frame, [column for column in CAPTION_COLUMNS if column not in differing])
    words = [*([", ".join(devices)] if devices else []), *shared]
    sentences = ["; ".join(words)] if words else []
    if differing:
        sentences += [_run_sentence(name, rows, differing) for name, rows in _by_run(frame, labels or {})]
    if manifests:
        sentences.append("; ".join(_distinct(describe_code(manifest) for manifest in manifests)))
    if frame["time_s"].notna().any():
        if shows_rates:
            sentences.append(f"FLOPs: {'; '.join(_distinct(frame['flop_convention'].unique()))}")
        sentences += measurement_notes(frame)
        if shows_rates:
            sentences += peak_notes(frame)
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


def _differing_columns(frame: pd.DataFrame) -> list[str]:
    """Return the columns that hold other values in one run than in another."""
    runs = list(_by_run(frame, {}))
    return [column for column in CAPTION_COLUMNS if len({_values(rows, column) for _, rows in runs}) > 1]


def _by_run(frame: pd.DataFrame, labels: RunLabels) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the short name and the rows of each run."""
    for run, name in run_names(frame).items():
        yield labels.get(run, name), frame[(frame[list(RUN_COLUMNS)] == list(run)).all(axis="columns")]


def _run_sentence(name: str, rows: pd.DataFrame, columns: Iterable[str]) -> str:
    """Return what one run has in the columns in which runs differ."""
    return f"{name}: {'; '.join(CAPTION_COLUMNS[column].format(_values(rows, column)) for column in columns)}"


def _words(frame: pd.DataFrame, columns: Iterable[str]) -> list[str]:
    """Return the values of columns in words; a column without any value is left out."""
    return [
        CAPTION_COLUMNS[column].format(_values(frame, column))
        for column in columns
        if frame[column].notna().any()
    ]


def _values(frame: pd.DataFrame, column: str) -> str:
    """Return the values of a column, as a list or as a range where there are many."""
    found = frame[column].dropna().unique().tolist()
    if len(found) > MOST_VALUES and not isinstance(found[0], str):
        words = [f"{format_value(min(found))} … {format_value(max(found))}"]
    else:
        ordered = found if any(isinstance(value, str) for value in found) else sorted(found)
        words = [format_value(value) for value in ordered]
    if frame[column].isna().any():
        words.append(NOT_RECORDED)
    return ", ".join(words)

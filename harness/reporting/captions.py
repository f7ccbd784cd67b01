"""The line below every figure: machine, problem, code and date, so that a figure can stand alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from harness.reporting.distinct import has_one_value
from harness.reporting.frames import (
    RUN_COLUMNS,
    RunLabels,
    distinct_texts,
    format_value,
    is_missing,
    run_names,
    varying,
)
from harness.reporting.measurement_notes import measurement_notes, peak_notes
from harness.reporting.summary_columns import SAME_UNLESS_SAID

if TYPE_CHECKING:
    import pandas as pd

    from harness.results.manifest import Manifest, Part

SHORT_COMMIT = 7
MOST_VALUES = 4
"""More values of a column than this are given as a range."""

NOT_RECORDED = "not recorded"
TRUTHS = {False: "no", True: "yes"}
SAME_SCALE = 1e-9
"""Scales that differ by less, relatively, are the same."""

LONGEST_TEXT = 40
"""Letters of a value; of longer ones there is the beginning, or how many they are."""

USUAL_VALUES = (False, "full")
"""Values of columns that are not worth a word where all rows have them."""

CAPTION_COLUMNS = {
    "target": "target {}",
    "threads": "threads {}",
    "dtype": "{}",
    "batch": "batch {}",
    "heads": "heads {}",
    "kv_heads": "key/value heads {}",
    "head_dim": "head dim {}",
    "head_dim_v": "value dim {}",
    "seq_q": "seq {}",
    "seq_kv": "key/value seq {}",
    "mask": "mask {}",
    "kv_lengths": "key/value lengths {}",
    "cu_seqlens_q": "query sequences {}",
    "cu_seqlens_kv": "key/value sequences {}",
    "scale": "scale {}",
    "softcap": "softcap {}",
    "bias": "bias {}",
    "sinks": "sinks {}",
    "log_sum_exp": "log-sum-exp {}",
    "model_width": "model width {}",
    "output_projection": "output projection {}",
}
"""How values of a problem column are named; window, alignment and boolean mask stand in that of the mask."""


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
    named = [column for column in CAPTION_COLUMNS if _is_named(frame, column)]
    differing = _differing_columns(frame, named)
    shared = values_in_words(frame, [column for column in named if column not in differing])
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
    """Return version, commit and date of a run, `harness 0.1.0, commit cd39bee (modified), 2026-11-21`.

    Where it was resumed with other code, that of each part follows.
    """
    parts: list[Manifest | Part] = [manifest]
    for part in manifest.parts:
        if part.code_digest != parts[-1].code_digest:
            parts.append(part)
    return ", resumed with ".join(map(_describe_part, parts))


def _describe_part(part: Manifest | Part) -> str:
    words = [f"harness {part.harness_version}"]
    if part.git_commit is not None:
        modified = " (modified)" if part.git_dirty else ""
        words.append(f"commit {part.git_commit[:SHORT_COMMIT]}{modified}")
    words.append(part.started[: len("2026-11-21")])
    return ", ".join(words)


def _distinct(values: Iterable[Any]) -> list[str]:
    return list(dict.fromkeys(str(value) for value in values if not is_missing(value)))


def problem_words(frame: pd.DataFrame, columns: Iterable[str]) -> list[str]:
    """Return the values of problem columns in words, `heads 2, 4`, of those that captions name.

    That leaves out what is as usual: queries and keys of equal heads, widths and lengths, the default scale,
    no mask, and what has no value at all.
    """
    return values_in_words(
        frame, [column for column in CAPTION_COLUMNS if column in columns and _is_named(frame, column)]
    )


def _is_named(frame: pd.DataFrame, column: str) -> bool:
    """Whether what a column holds is worth a word; lengths that vary are an axis."""
    values = frame[column]
    if column in SAME_UNLESS_SAID:
        return bool((values != frame[SAME_UNLESS_SAID[column]]).any())
    if column == "scale":
        return bool(((values * frame["head_dim"] ** 0.5 - 1).abs() > SAME_SCALE).any())
    if column in ("target", "seq_q"):
        return (values.nunique() > 1) == (column == "target")
    if len(values) and has_one_value(values):
        return is_missing(values.iloc[0]) or values.iloc[0] not in USUAL_VALUES
    return not bool(values.isin(USUAL_VALUES).all())


def _differing_columns(frame: pd.DataFrame, columns: Iterable[str]) -> list[str]:
    """Return the columns that hold other values in one run than in another."""
    if not varying(frame, RUN_COLUMNS):
        return []
    runs = list(_by_run(frame, {}))
    return [column for column in columns if len({_values(rows, column) for _, rows in runs}) > 1]


def _by_run(frame: pd.DataFrame, labels: RunLabels) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the short name and the rows of each run."""
    for run, name in run_names(frame).items():
        yield labels.get(run, name), frame[(frame[list(RUN_COLUMNS)] == list(run)).all(axis="columns")]


def _run_sentence(name: str, rows: pd.DataFrame, columns: Iterable[str]) -> str:
    """Return what one run has in the columns in which runs differ."""
    return f"{name}: {'; '.join(CAPTION_COLUMNS[column].format(_values(rows, column)) for column in columns)}"


def values_in_words(frame: pd.DataFrame, columns: Iterable[str]) -> list[str]:
    """Return the values of columns in words; one without any value, or without a name, is left out."""
    return [
        CAPTION_COLUMNS[column].format(_values(frame, column))
        for column in columns
        if column in CAPTION_COLUMNS and frame[column].notna().any()
    ]


def _values(frame: pd.DataFrame, column: str) -> str:
    """Return the values of a column, as a list or as a range where there are many."""
    found = frame[column].dropna().unique().tolist()
    if len(found) > MOST_VALUES and not isinstance(found[0], str):
        words = [f"{format_value(min(found))} … {format_value(max(found))}"]
    elif any(len(str(value)) > LONGEST_TEXT for value in found):
        words = [f"{found[0][:LONGEST_TEXT]} …" if len(found) == 1 else f"of {len(found)} kinds"]
    else:
        ordered = found if any(isinstance(value, str) for value in found) else sorted(found)
        text_of = distinct_texts(found)
        words = [TRUTHS[value] if isinstance(value, bool) else text_of(value) for value in ordered]
    if frame[column].isna().any():
        words.append(NOT_RECORDED if column == "threads" else "none")
    return ", ".join(words)

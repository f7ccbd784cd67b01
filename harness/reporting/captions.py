"""Words for problems, in captions and headings, and the caption that lets a figure stand alone.

All words come from the columns that tell problems apart: `head dim 64`, `causal mask`, `f32`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from harness.problem.attention_problem import LISTS_OF_LENGTHS
from harness.problem.names_of_values import name_of_list
from harness.reporting.frames import PROBLEM_COLUMNS, RUN_LABEL, in_words, is_missing, several_values
from harness.reporting.measurement_notes import measurement_notes, peak_notes
from harness.reporting.summary_columns import SAME_UNLESS_SAID, has_unusual_scale, problem_header

if TYPE_CHECKING:
    import pandas as pd

    from harness.results.manifest import Manifest, Part

GONE_ON = "; gone on with: "
SHORT_COMMIT = 7
MOST_VALUES = 4
"""More numbers of a column than this are a range."""
NONE = "none"
FIXED_LENGTH = "fixed_length"
"""Column of words for the length that stays where the other one grows."""
LONGER = "longer length"
"""Column of the length that grows, where it is that of queries in some panels and of keys in others."""
SAID_ALONE = ("dtype", "target", "device", "target_options", RUN_LABEL, FIXED_LENGTH)
"""Columns whose values need no name."""
PARTS_OF_MASK = ("causal_alignment", "window", "boolean_mask", "mask_axes")
"""Columns that the name of the mask stands for, wherever it does."""


def figure_caption(
    frame: pd.DataFrame,
    manifests: Sequence[Manifest],
    *,
    shows_times: bool = True,
    shows_rates: bool = True,
    says_lengths: bool = False,
) -> str:
    """Return `CPU; threads 1; f32; heads 16; batch 1. harness 0.1.0, commit cd39bee, 2026-11-21. FLOPs: …`.

    Notes on measured times and rates follow where the figure shows them.  With `says_lengths` the lengths are
    named even where they vary: they are no axis.
    """
    columns = {*_named(frame), *["seq_q"] * says_lengths}
    devices = _distinct(frame["device"].unique()) or _distinct(manifest.device for manifest in manifests)
    problem = values_in_words(frame, [name for name in PROBLEM_COLUMNS if name in columns])
    sentences = ["; ".join([", ".join(devices), *problem])]
    sentences.append("; ".join(_distinct(describe_code(manifest) for manifest in manifests)))
    if frame["time_s"].notna().any():
        if shows_rates:
            sentences.append(f"FLOPs: {'; '.join(_distinct(frame['flop_convention'].unique()))}")
        if shows_times:
            sentences += measurement_notes(frame)
        if shows_rates:
            sentences += peak_notes(frame)
    return " ".join(f"{sentence}." for sentence in sentences if sentence)


def problem_words(frame: pd.DataFrame, columns: Iterable[str]) -> list[str]:
    """Return the values of those columns that are worth a word, `heads 2, 4`."""
    return values_in_words(frame, [column for column in _named(frame) if column in set(columns)])


def values_in_words(frame: pd.DataFrame, columns: Iterable[str]) -> list[str]:
    """Return the values of columns, `head dim 64, 128`."""
    return [_column_words(frame, column) for column in columns]


def forms_in_words(columns: Sequence[str], forms: Iterable[Sequence[Any]]) -> list[str]:
    """Return combinations of values, `f32, causal mask, scale 0.125`."""
    return [
        ", ".join(
            _with_name(name, _value_text(name, value)) for name, value in zip(columns, form, strict=True)
        )
        for form in forms
    ]


def describe_code(manifest: Manifest) -> str:
    """Return version, commit and date of a run, `harness 0.1.0, commit cd39bee (modified), 2026-11-21`."""
    return ", resumed with ".join([_describe_part(manifest), *describe_resumes(manifest)])


def describe_resumes(manifest: Manifest) -> list[str]:
    """Return version, commit and date of each part that a run was resumed with, where its code was other."""
    parts: list[Manifest | Part] = [manifest]
    for part in manifest.parts:
        if (part.code_digest, part.plugin_code) != (parts[-1].code_digest, parts[-1].plugin_code):
            parts.append(part)
    return [_describe_part(part) for part in parts[1:]]


def describe_commands(manifest: Manifest, shown: Callable[[str], str] = str) -> str:
    """Return the commands that made a run, `harness run a.toml; gone on with: …`, each `shown` as text."""
    return GONE_ON.join(map(shown, manifest.commands))


def _describe_part(part: Manifest | Part) -> str:
    words = [f"harness {part.harness_version}"]
    if part.git_commit is not None:
        modified = " (modified)" if part.git_dirty else ""
        words.append(f"commit {part.git_commit[:SHORT_COMMIT]}{modified}")
    words += [f"{package} {sources[:SHORT_COMMIT]}" for package, sources in part.plugin_code.items()]
    words.append(part.started[: len("2026-11-21")])
    return ", ".join(words)


def _distinct(values: Iterable[Any]) -> list[str]:
    return list(dict.fromkeys(str(value) for value in values if not is_missing(value)))


def _with_name(column: str, text: str) -> str:
    if column in SAID_ALONE:
        return text
    return f"{text} mask" if column in ("mask", "causal") else f"{column.replace('_', ' ')} {text}"


def _value_text(column: str, value: Any) -> str:
    if is_missing(value) or value == "":
        return NONE
    if column == "causal":
        return "causal" if value else "full"
    return name_of_list(str(value)) if column in LISTS_OF_LENGTHS else in_words(value)


def _column_words(frame: pd.DataFrame, column: str) -> str:
    values = frame[column].dropna().unique().tolist()
    is_text = any(isinstance(value, str) for value in values)
    texts = [_value_text(column, value) for value in (values if is_text else sorted(values))]
    if len(texts) > MOST_VALUES and not is_text:
        texts = [f"{texts[0]} … {texts[-1]}"]
    if not values or (frame[column].isna().any() and column != "threads"):
        texts.append(NONE)
    return _with_name(problem_header(frame, column), ", ".join(texts))


def _named(frame: pd.DataFrame) -> list[str]:
    return [column for column in PROBLEM_COLUMNS if column in frame and _is_named(frame, column)]


def _is_named(frame: pd.DataFrame, column: str) -> bool:
    """Whether what a column holds is worth a word; lengths that vary are an axis."""
    values = frame[column]
    if column in PARTS_OF_MASK:
        return several_values(frame, ["mask"], column)
    if column in SAME_UNLESS_SAID:
        return bool((values != frame[SAME_UNLESS_SAID[column]]).any())
    if column == "scale":
        return has_unusual_scale(frame)
    if column == "target":
        return values.nunique() > 1
    if column == "seq_q":
        return values.nunique() == 1
    return not bool((values.isna() | values.isin([False, "full"])).all())

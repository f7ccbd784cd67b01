"""The line below every figure: machine, problem, code and date, so that a figure can stand alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness.problem.attention_problem import LISTS_OF_LENGTHS, TOLD_WITH_OTHERS
from harness.problem.fields import problem_fields
from harness.problem.names_of_values import name_of_list
from harness.reporting.distinct import first_rows, has_one_value, numbered
from harness.reporting.frames import (
    PROBLEM_COLUMNS,
    RUN_COLUMNS,
    RUN_LABEL,
    RunLabels,
    distinct_texts,
    in_words,
    is_missing,
    run_names,
    several_values,
    varying,
)
from harness.reporting.measurement_notes import measurement_notes, peak_notes
from harness.reporting.summary_columns import SAME_UNLESS_SAID, has_unusual_scale

if TYPE_CHECKING:
    import pandas as pd

    from harness.results.manifest import Manifest, Part

RunKey = tuple[Hashable, Hashable]
"""Experiment and run."""

GONE_ON = "; gone on with: "
"""Between the commands of a run that was resumed."""
SHORT_COMMIT = 7
MOST_VALUES = 4
"""More values of a column than this are given as a range."""

DEVICE = "device"
"""What stands first in a caption: the devices, and the machine where they are not it."""

NATIVE = "native"
"""What runs code of processors, in threads."""

NOT_RECORDED = "not recorded"

LONGEST_TEXT = 40
"""Letters of a list of lengths; of longer ones there is a name, or how many they are."""

USUAL_VALUES = (False, "full")
"""Values of columns that are not worth a word where all rows have them."""

FIRST_NAMED = ("target", "threads", "dtype", "batch", "heads", "kv_heads", "head_dim", "head_dim_v")
LABELS = {field.column_name: field.label for name, field in problem_fields().items() if name != "causal"}
DEFAULTS = {name: field.default for name, field in problem_fields().items() if name not in TOLD_WITH_OTHERS}
CAPTION_COLUMNS = {
    name: "{}" if name == "dtype" else f"{LABELS.get(name, name)} {{}}"
    for name in (*FIRST_NAMED, "seq_q", "seq_kv", "mask", *LABELS)
}
"""How values of a problem column are named."""

PARTS_OF_MASK = ("causal_alignment", "window", "boolean_mask", "mask_axes")
"""Columns that the name of the mask stands for, and that have words of their own only where it does not."""

TELLING = {
    **SAME_UNLESS_SAID,
    "scale": "head_dim",
    "target": DEVICE,
    **dict.fromkeys(PARTS_OF_MASK, "mask"),
}
"""Columns whose values another column's words tell, where they have none of their own."""


def figure_caption(
    frame: pd.DataFrame,
    manifests: Sequence[Manifest],
    labels: RunLabels | None = None,
    *,
    names: Sequence[str] = (),
    shows_times: bool = True,
    shows_rates: bool = True,
    says_lengths: bool = False,
) -> str:
    """Return `CPU; threads 1; f32; batch 1; heads 16. harness 0.1.0, commit cd39bee, 2026-11-21. FLOPs: …`.

    What differs between merged runs is said of each of them, by its label or else by `run_names`; `names` are
    what the column `run` calls the run of each manifest.  Where something was timed and the figure shows it,
    what is to be known of the measurement follows, and where the figure shows rates, the FLOP convention and
    what is to be known of the peak.  With `says_lengths` it names lengths that vary, too: they are no axis.
    """
    lengths = ("seq_q",) if says_lengths and "seq_q" in frame else ()
    worth_a_word = {*_named(frame), *lengths}
    named = [column for column in CAPTION_COLUMNS if column in worth_a_word]
    words = _words_of_runs(frame, named, _machines(manifests, names))
    differing = _differing(words, named)
    shared = _words(frame, named)
    if not shared[DEVICE]:
        shared[DEVICE] = ", ".join(_distinct(manifest.device for manifest in manifests))
    sentences = ["; ".join(text for part, text in shared.items() if text and part not in differing)]
    if differing:
        names_of_runs = {run: (labels or {}).get(run, name) for run, name in run_names(frame).items()}
        sentences += _said_of_each(words, differing, names_of_runs)
    if manifests:
        sentences.append("; ".join(_distinct(describe_code(manifest) for manifest in manifests)))
    if frame["time_s"].notna().any():
        if shows_rates:
            sentences.append(f"FLOPs: {'; '.join(_distinct(frame['flop_convention'].unique()))}")
        if shows_times:
            sentences += measurement_notes(frame)
        if shows_rates:
            sentences += peak_notes(frame)
    return " ".join(f"{sentence}." for sentence in sentences if sentence)


def words_of_runs(frame: pd.DataFrame, besides: Collection[str] = ()) -> str:
    """Return in what runs differ, as captions say it: `before: heads 8. after: heads 16.`

    Columns of `besides` are left out.  Where nothing else differs, it is empty.
    """
    named = [column for column in _named(frame) if column not in besides]
    words = _words_of_runs(frame, named)
    names = run_names(frame) if words else {}
    if RUN_LABEL in frame:
        names = {run: str(rows[RUN_LABEL].iloc[0]) for run, rows in _rows_of_runs(frame)}
    sentences = _said_of_each(words, _differing(words, named), names)
    return " ".join(f"{sentence}." for sentence in sentences)


def _differing(words: Mapping[RunKey, Mapping[str, str]], columns: Iterable[str]) -> list[str]:
    """Return the parts of what is said of runs in which they differ."""
    return [part for part in (DEVICE, *columns) if len({of_run[part] for of_run in words.values()}) > 1]


def _said_of_each(
    words: Mapping[RunKey, Mapping[str, str]], differing: Sequence[str], names: Mapping[RunKey, str]
) -> list[str]:
    """Return a sentence for each run, by its name, of which there is something to say."""
    told = {run: "; ".join(filter(None, map(words[run].get, differing))) for run in names}
    return [f"{names[run]}: {text}" for run, text in told.items() if text]


def said_of_runs(frame: pd.DataFrame) -> list[str]:
    """Return the problem columns in which runs differ, and whose values a caption says of each run.

    Only where series carry the names of their runs is there any.  Such a column does not vary within a run,
    and the caption's words for runs of different values differ.
    """
    if RUN_LABEL not in frame:
        return []
    columns = [
        name for name in varying(frame, PROBLEM_COLUMNS) if not several_values(frame, RUN_COLUMNS, name)
    ]
    if not columns:
        return []
    words = _words_of_runs(frame, _named(frame))
    runs = frame.iloc[first_rows(numbered(frame, RUN_COLUMNS))]
    told = [words[run] for run in zip(runs["experiment"], runs["run"], strict=True)]
    return [name for name in columns if _tells_apart(told, name, numbered(runs, [name]))]


def _tells_apart(told: Sequence[Mapping[str, str]], column: str, values: Iterable[int]) -> bool:
    """Whether the words of runs differ wherever their values of a column do; values are numbered."""
    parts = (column, TELLING.get(column, column))
    value_of: dict[tuple[str, ...], int] = {}
    return all(
        value_of.setdefault(tuple(of_run.get(part, "") for part in parts), value) == value
        for of_run, value in zip(told, values, strict=True)
    )


def describe_code(manifest: Manifest) -> str:
    """Return version, commit and date of a run, `harness 0.1.0, commit cd39bee (modified), 2026-11-21`.

    The digest of the sources of each package of plugins stands before the date, `attention_einsum 1f0c2ab`.
    Where it was resumed with other code, that of each part follows.
    """
    return ", resumed with ".join([_describe_part(manifest), *describe_resumes(manifest)])


def describe_resumes(manifest: Manifest) -> list[str]:
    """Return version, commit and date of each part that a run was resumed with, where its code was other."""
    parts: list[Manifest | Part] = [manifest]
    for part in manifest.parts:
        if (part.code_digest, part.plugin_code) != (parts[-1].code_digest, parts[-1].plugin_code):
            parts.append(part)
    return [_describe_part(part) for part in parts[1:]]


def describe_commands(manifest: Manifest, shown: Callable[[str], str] = str) -> str:
    """Return the commands that made a run, `harness run a.toml; gone on with: harness run a.toml --resume`.

    `shown` writes each as it stands in the text.
    """
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


def problem_words(frame: pd.DataFrame, columns: Iterable[str]) -> list[str]:
    """Return the values of problem columns in words, `heads 2, 4`, of those that captions name.

    That leaves out what is as usual: queries and keys of equal heads, widths and lengths, the default scale,
    no mask, and what has no value at all.
    """
    wanted = set(columns)
    return values_in_words(frame, [column for column in _named(frame) if column in wanted])


def _named(frame: pd.DataFrame) -> list[str]:
    """Return the columns of a frame whose values are worth a word."""
    return [column for column in CAPTION_COLUMNS if column in frame and _is_named(frame, column)]


def _is_named(frame: pd.DataFrame, column: str) -> bool:
    """Whether what a column holds is worth a word; lengths that vary within a run are an axis."""
    values = frame[column]
    teller = TELLING.get(column, column)
    if teller not in (column, DEVICE) and teller not in frame:
        return True
    if column in PARTS_OF_MASK:
        return several_values(frame, ["mask"], column)
    if column in SAME_UNLESS_SAID:
        return bool((values != frame[SAME_UNLESS_SAID[column]]).any())
    if column == "scale":
        return has_unusual_scale(frame)
    if column == "target":
        return values.nunique() > 1
    if column == "seq_q":
        is_of_runs = RUN_LABEL in frame and not several_values(frame, RUN_COLUMNS, column)
        return is_of_runs or values.nunique() == 1
    usual = (*USUAL_VALUES, DEFAULTS.get(column, False))
    if len(values) and has_one_value(values):
        return is_missing(values.iloc[0]) or values.iloc[0] not in usual
    return not bool(values.isin(usual).all())


def _machines(manifests: Sequence[Manifest], names: Sequence[str]) -> dict[RunKey, str]:
    """Return the machine of each run, where runs are of several."""
    machines = [manifest.processor for manifest in manifests]
    if len(set(machines)) < 2:
        return {}
    return {
        (manifest.experiment, name): machine
        for manifest, name, machine in zip(manifests, names, machines, strict=False)
    }


def _words_of_runs(
    frame: pd.DataFrame, columns: Sequence[str], machines: Mapping[RunKey, str] | None = None
) -> dict[RunKey, dict[str, str]]:
    """Return what is said of each of several runs, see `_words`; numbers that look alike are exact."""
    return {
        run: _words(rows, columns, (machines or {}).get(run), whole=frame)
        for run, rows in _rows_of_runs(frame)
    }


def _rows_of_runs(frame: pd.DataFrame) -> Iterator[tuple[RunKey, pd.DataFrame]]:
    """Yield each of several runs and its rows."""
    for run in run_names(frame) if varying(frame, RUN_COLUMNS) else ():
        yield run, frame[(frame[list(RUN_COLUMNS)] == list(run)).all(axis="columns")]


def _words(
    frame: pd.DataFrame,
    columns: Sequence[str],
    machine: str | None = None,
    *,
    whole: pd.DataFrame | None = None,
) -> dict[str, str]:
    """Return the device and the values of columns of some rows in words, empty where there are none.

    A machine is named where it is none of the devices.  Where the rows are those of a run among others, in
    the `whole` frame, it is also said what has no value.
    """
    devices = _distinct(frame["device"].unique())
    of_targets = _devices_of_targets(frame)
    named = of_targets or devices
    if machine is not None and machine not in devices:
        others = [name for name in named if not machine.startswith(f"{name}, ")]
        named = [*others, f"machine {machine}"]
    words = {DEVICE: ", ".join(named)}
    for column in columns:
        is_told = bool(of_targets) and column == "target"
        words[column] = "" if is_told else "".join(values_in_words(frame, [column], whole=whole))
    return words


def _devices_of_targets(frame: pd.DataFrame) -> list[str]:
    """Return the devices with their targets, where not all targets are of the same ones."""
    pairs = frame[["target", "device"]].dropna().drop_duplicates()
    if pairs["device"].nunique() < 2 or len(pairs) == pairs["target"].nunique() * pairs["device"].nunique():
        return []
    return [
        f"{device} (target {', '.join(targets)})"
        for device, targets in pairs.groupby("device", sort=False)["target"]
    ]


def values_in_words(
    frame: pd.DataFrame, columns: Iterable[str], *, whole: pd.DataFrame | None = None
) -> list[str]:
    """Return the values of columns in words; one without a name is left out.

    So is one without any value, unless the rows are to be told from the others of a `whole` frame.
    """
    return [
        CAPTION_COLUMNS[column].format(values)
        for column in columns
        if column in CAPTION_COLUMNS and (whole is not None or frame[column].notna().any())
        if (values := _values(frame, column, frame if whole is None else whole))
    ]


def _values(frame: pd.DataFrame, column: str, whole: pd.DataFrame) -> str:
    """Return a column's values as a list, or as a range where there are many; empty where none can be."""
    rows = _with_threads(frame) if column == "threads" else frame
    found = rows[column].dropna().unique().tolist()
    if len(found) > MOST_VALUES and not isinstance(found[0], str):
        ends = (min(found), max(found))
        words = [" … ".join(map(distinct_texts(ends), ends))]
    elif column in LISTS_OF_LENGTHS and any(len(value) > LONGEST_TEXT for value in found):
        words = [name_of_list(found[0]) if len(found) == 1 else f"of {len(found)} kinds"]
    else:
        ordered = found if any(isinstance(value, str) for value in found) else sorted(found)
        text_of = distinct_texts(whole[column].unique())
        words = [in_words(value, text_of) for value in ordered]
    if rows[column].isna().any():
        words.append(NOT_RECORDED if column == "threads" else "none")
    told = ", ".join(words)
    return f"{told} (target {', '.join(_distinct(rows['target']))})" if 0 < len(rows) < len(frame) else told


def _with_threads(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of what has threads: what a device, an emulator or nothing ran has none."""
    return frame[frame["threads"].notna() | (frame["executor"] == NATIVE)]

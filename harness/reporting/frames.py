"""From the raw results frame to the one that tables and figures work on.

The raw frame has one column for each field of `harness.results.result.Result`, parameters as `param.NAME`
plus the printable `params`.  `prepare` keeps the last row of each case and adds `label`: an ordered
categorical that names the series of a row (`flash`, `naive tile_kv=128`) and carries the order in which
variants are shown.  Subsets of a prepared frame keep all categories, so order and style stay the same from
one table or figure to the next.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from harness.problem.attention_problem import describe_fields
from harness.problem.fields import problem_fields
from harness.problem.names_of_values import name_of_float
from harness.reporting.distinct import first_rows, has_one_value, numbered
from harness.reporting.units import Unit, rate_unit, time_unit
from harness.results.frame import PARAMETER_PREFIX, dtype_of, newest_of_each_case

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

FIRST_COLUMNS = (
    "target",
    "threads",
    "dtype",
    "model_width",
    "output_projection",
    "head_dim",
    "head_dim_v",
    "mask",
)
LAST_COLUMNS = ("heads", "kv_heads", "seq_q", "seq_kv", "batch")
PROBLEM_COLUMNS = (
    *FIRST_COLUMNS,
    *(
        field.column_name
        for field in problem_fields().values()
        if field.column_name
        not in (*FIRST_COLUMNS, *LAST_COLUMNS, "causal")  # the name of the mask says that
    ),
    *LAST_COLUMNS,
)
"""What tells one problem (and the machine it runs on) from another, in the order that rows are sorted by."""

OPERANDS_OF_AXES = {"mask_axes": "boolean_mask", "bias_axes": "bias"}
"""Columns of axes, and the columns that say whether a problem has the operand whose axes they are."""

FIRST_WORDS = ("full", "causal", "f32", "f16", "bf16")
"""Masks and dtypes in their usual order; other words follow by the alphabet."""

TRUTHS = {"False": "no", "True": "yes"}
"""What stands for truth values, Python's and NumPy's."""

RUN_COLUMNS = ("experiment", "run")

RUN_LABEL = "run_label"
"""Column of a prepared frame whose series carry the names of runs: that name."""

BASELINE_LABEL = "baseline_label"
"""Column of a prepared frame: the series that a row's speed-up is over, without its run."""

Value = TypeVar("Value")
RunLabels = Mapping[tuple[Hashable, Hashable], str]
"""What runs are called, by experiment and run."""


def prepare(
    frame: pd.DataFrame, variant_order: Sequence[str] = (), run_labels: RunLabels | None = None
) -> pd.DataFrame:
    """Return the frame that tables and figures take, its rows sorted by problem, then by series.

    `variant_order` is the experiment's list of variants; variants it does not name follow in order of
    appearance, a baseline first.  `run_labels` names runs, by experiment and run; where they are given, every
    series carries its run's.  `BASELINE_LABEL` says what speed-ups are over.
    """
    import numpy as np
    import pandas as pd

    if frame.empty:
        return frame.assign(label=pd.Categorical([], categories=[], ordered=True))
    whole = newest_of_each_case(frame).copy()  # Of many columns, each in memory of its own, pandas warns.
    prepared = _with_usual_axes(whole)
    codes, members = _series(prepared)
    labels = _labels_without_run(members)
    prepared = prepared.assign(**{BASELINE_LABEL: _baseline_labels(prepared, codes, labels)})
    if run_labels or runs_must_be_told_apart(prepared):
        names = {**run_names(members), **(run_labels or {})}
        runs = [names[pair] for pair in zip(members["experiment"], members["run"], strict=True)]
        labels = [f"{label} ({run})" for label, run in zip(labels, runs, strict=True)]
        prepared = prepared.assign(
            **{RUN_LABEL: pd.Series(runs, dtype=dtype_of("str")).take(codes).to_numpy()}
        )
    order = _label_order(members, labels, variant_order, set(prepared["baseline"].dropna()))
    places = {label: place for place, label in enumerate(order)}
    of_series = np.array([places[label] for label in labels])
    series = pd.CategoricalDtype(order, ordered=True)
    categorical = pd.Categorical.from_codes(of_series[codes], dtype=series)
    return sort_rows(prepared.assign(label=categorical))


def _with_usual_axes(frame: pd.DataFrame) -> pd.DataFrame:
    """Fill in the usual axes of masks and biases where other rows have others; results leave them out."""
    filled = {}
    for column, operand in OPERANDS_OF_AXES.items():
        if column in frame and frame[column].notna().any():
            is_usual = frame[column].isna() & frame[operand].eq(True).fillna(False).astype(bool)
            filled[column] = frame[column].mask(is_usual, problem_fields()[column].default)
    return frame.assign(**filled)


def runs_must_be_told_apart(frame: pd.DataFrame) -> bool:
    """Whether several runs measured one case, or ran the cases of one target on different devices."""
    if frame.empty or len(frame.drop_duplicates(list(RUN_COLUMNS))) < 2:
        return False
    devices = frame.groupby("target")["device"].nunique()
    return bool(frame["case"].duplicated().any() or (devices > 1).any())


def run_names(frame: pd.DataFrame) -> dict[tuple[Hashable, Hashable], str]:
    """Return the name of each (experiment, run) that tells it from the frame's others."""
    runs = frame[list(RUN_COLUMNS)].drop_duplicates()
    pairs = sorted(zip(runs["experiment"], runs["run"], strict=True))
    experiments = {experiment for experiment, _ in pairs}
    if len(experiments) == len(pairs):
        return {pair: str(pair[0]) for pair in pairs}
    return {pair: str(pair[1]) if len(experiments) == 1 else f"{pair[0]} {pair[1]}" for pair in pairs}


def select_variants(frame: pd.DataFrame, wanted: Sequence[str] | None) -> pd.DataFrame:
    """Keep the rows whose variant or label is wanted; None keeps all."""
    if wanted is None:
        return frame
    return frame[frame["variant"].isin(wanted) | frame["label"].isin(wanted)]


def display_name(label: str, names: Mapping[str, str]) -> str:
    """Return what a series is called: its name, or its variant's with the series' parameters."""
    variant, space, parameters = label.partition(" ")
    return str(names.get(label, f"{names.get(variant, variant)}{space}{parameters}"))


def shown_names(labels: Iterable[str], names: Mapping[str, str]) -> dict[str, str]:
    """Return what each of some series is called; those of one name keep their labels, too."""
    shown = {label: display_name(label, names) for label in labels}
    times = Counter(shown.values())
    return {label: name if times[name] == 1 else f"{name} ({label})" for label, name in shown.items()}


def renamed(frame: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """Return a prepared frame whose series and baselines are called by these names; equal ones stay apart."""
    labels = [*frame["label"].cat.categories, *frame.get(BASELINE_LABEL, frame["label"]).dropna()]
    shown = shown_names(map(str, labels), names)
    frame = frame.assign(label=frame["label"].cat.rename_categories(shown))
    if BASELINE_LABEL in frame:
        baselines = frame[BASELINE_LABEL].map(shown, na_action="ignore").astype(dtype_of("str"))
        frame = frame.assign(**{BASELINE_LABEL: baselines})
    return frame


def of_series(label: str, values: Mapping[str, Value]) -> Value | None:
    """Return the value of a series, or of its variant; None without either."""
    return values.get(label, values.get(label.partition(" ")[0]))


def in_order(frame: pd.DataFrame, first: Sequence[str]) -> pd.DataFrame:
    """Return the rows with these variants, or series, first; the others follow as before."""
    places = {name: place for place, name in enumerate(first)}
    labels = [str(label) for label in frame["label"].cat.categories]
    labels.sort(key=lambda label: len(first) if (place := of_series(label, places)) is None else place)
    return sort_rows(frame.assign(label=frame["label"].cat.reorder_categories(labels, ordered=True)))


def labels_in(frame: pd.DataFrame) -> list[str]:
    """Return the labels that occur in a prepared frame, in their order."""
    return [str(label) for label in frame["label"].cat.remove_unused_categories().cat.categories]


def variant_of_labels(frame: pd.DataFrame) -> dict[str, str]:
    """Return the variant of each label, in the labels' order."""
    pairs = frame.drop_duplicates("label").sort_values("label")
    return dict(zip(map(str, pairs["label"]), map(str, pairs["variant"]), strict=True))


def varying(frame: pd.DataFrame, columns: Iterable[str]) -> list[str]:
    """Return those of the columns that have more than one value (missing counts as a value)."""
    return [column for column in columns if column in frame and not has_one_value(frame[column])]


def several_values(frame: pd.DataFrame, place: Sequence[str], column: str) -> bool:
    """Whether rows that agree in the columns of `place` differ in another one (missing counts as a value)."""
    places, with_column = numbered(frame, place), numbered(frame, [*place, column])
    return bool(with_column.max(initial=-1) > places.max(initial=-1))


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows as dictionaries of Python's own values, None where pandas has `NA`.

    So does `DataFrame.to_dict`, in four times the time.
    """
    import pandas as pd

    names = list(map(str, frame.columns))
    columns = [
        [None if value is pd.NA else value for value in column.to_numpy(dtype=object).tolist()]
        for _, column in frame.items()
    ]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def sort_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Sort by problem, then by label."""
    import numpy as np

    keys = [_ranks(frame[column]) for column in varying(frame, PROBLEM_COLUMNS)]
    order = np.lexsort([frame["label"].cat.codes.to_numpy(), *reversed(keys)])
    return frame.iloc[order].reset_index(drop=True)


def describe_problem(row: dict[str, Any]) -> str:
    """Return a row's problem in one short line, `b1 h8 s256 d64 f32 causal`; other problems have others."""
    fields = {name: None if is_missing(value) else _of_python(value) for name, value in row.items()}
    words = describe_fields(fields)
    threads = fields.get("threads")
    return words if threads is None else f"{words} threads={format_value(threads)}"


def is_own_baseline(row: Mapping[str, Any]) -> bool:
    """Whether a row's speed-up is over itself, 1 by definition."""
    if not is_missing(row["baseline_case"]):
        return bool(row["baseline_case"] == row["case"])
    return bool(row["variant"] == row["baseline"] and row["speedup"] == 1)


def units_of(frame: pd.DataFrame) -> tuple[Unit, Unit]:
    """Return the units that times and rates of these rows are shown in."""
    median = float(frame["time_s"].quantile(0.5, interpolation="higher"))
    return time_unit([median]), rate_unit([float(frame["tflops"].max())])


def is_missing(value: Any) -> bool:
    """Whether a cell is empty: None, NaN or pandas' NA."""
    return value is None or str(value) == "<NA>" or value != value


def format_value(value: Any) -> str:
    """Format a parameter or problem value; whole numbers that a column with gaps made floats stay whole."""
    value = _of_python(value)
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        return str(int(value))
    return name_of_float(value) if isinstance(value, float) else str(value)


def in_words(value: Any) -> str:
    """Return a problem value as people read it: `yes` and `no` for truth values."""
    return TRUTHS.get(str(value)) or format_value(value)


def _of_python(value: Any) -> Any:
    """Return a number of NumPy, such as a `float32`, as the equal one of Python; other values as they are."""
    import numpy as np

    return value.item() if isinstance(value, np.generic) else value


def _parameter_columns(frame: pd.DataFrame) -> list[str]:
    return [str(column) for column in frame.columns if str(column).startswith(PARAMETER_PREFIX)]


def _series(frame: pd.DataFrame) -> tuple[np.ndarray, pd.DataFrame]:
    """Return the number of each row's series, and the first row of each series."""
    codes = numbered(frame, ("variant", *_parameter_columns(frame), *RUN_COLUMNS))
    return codes, frame.iloc[first_rows(codes)].reset_index(drop=True)


def _labels_without_run(members: pd.DataFrame) -> list[str]:
    """Return the label of each series, of which `members` holds one row each, without its run."""
    varying_parameters = {
        str(variant): varying(rows, _parameter_columns(rows))
        for variant, rows in members.groupby("variant", sort=False)
    }
    labels = []
    for row in records(members):
        words = [str(row["variant"])]
        for column in varying_parameters[str(row["variant"])]:
            if not is_missing(row[column]):
                words.append(f"{column.removeprefix(PARAMETER_PREFIX)}={format_value(row[column])}")
        labels.append(" ".join(words))
    return labels


def _baseline_labels(frame: pd.DataFrame, codes: np.ndarray, labels: Sequence[str]) -> pd.Series[str]:
    """Return the label of the series that each row is compared with; `labels` are those of all series."""
    label_by_case = dict(zip(frame["case"], (labels[code] for code in codes), strict=True))
    compared_with = frame["baseline_case"].map(label_by_case).astype(dtype_of("str"))
    return compared_with.fillna(frame["baseline"])


def _label_order(
    members: pd.DataFrame, labels: Sequence[str], variant_order: Sequence[str], baselines: set[str]
) -> list[str]:
    """Order labels by variant (experiment's order, then baselines, then appearance), parameters, run."""
    appearance = list(dict.fromkeys(members["variant"]))
    unnamed_last = [variant for variant in appearance if variant not in variant_order]
    variants = [*variant_order, *sorted(unnamed_last, key=lambda variant: variant not in baselines)]
    parameters = _parameter_columns(members)
    keys: dict[str, tuple[Any, ...]] = {}
    for label, row in zip(labels, records(members), strict=True):
        values = tuple(sort_key(row[column]) for column in parameters)
        keys.setdefault(
            label, (variants.index(row["variant"]), values, str(row["experiment"]), str(row["run"]))
        )
    return sorted(keys, key=lambda label: keys[label])


def _ranks(column: pd.Series[Any]) -> np.ndarray:
    import numpy as np
    import pandas as pd

    codes, values = pd.factorize(column, use_na_sentinel=False)
    keys = [sort_key(value) for value in values]
    places = {key: place for place, key in enumerate(sorted(set(keys)))}
    return np.array([places[key] for key in keys], dtype=np.int64)[codes]


def sort_key(value: Any) -> tuple[int, float, str]:
    """Order missing values first, then numbers by size, then text: `full`, `causal`; `f32`, `f16`, `bf16`."""
    if is_missing(value):
        return (0, 0.0, "")
    if isinstance(value, str):
        rank = FIRST_WORDS.index(value) if value in FIRST_WORDS else len(FIRST_WORDS)
        return (2, float(rank), value)
    return (1, float(value), "")

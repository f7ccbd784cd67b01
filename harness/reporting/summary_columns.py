"""The columns of the summary: what tells problems apart, then series, status and what was measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.reporting.frames import (
    BASELINE_LABEL,
    PROBLEM_COLUMNS,
    distinct_texts,
    in_words,
    is_missing,
    records,
    units_of,
    varying,
)
from harness.reporting.units import (
    EMPTY,
    beside_limit,
    interval,
    percent,
    scaled,
    significant,
)

if TYPE_CHECKING:
    import pandas as pd

ALWAYS_IN_TITLE = ("target", "dtype")
NEVER_SHOWN = ("causal_alignment",)
"""Problem columns that stay out of titles; as columns they are shown where they vary."""
SAME_SCALE = 1e-9
"""Scales that differ by less, relatively, are the same."""

SAME_UNLESS_SAID = {"kv_heads": "heads", "head_dim_v": "head_dim", "seq_kv": "seq_q"}
HEADERS = {"seq_q": "seq"}
SPEEDUP, SPEEDUP_INTERVAL = "speedup", "speedup_low"
"""The frame's columns that two columns of the summary show."""


@dataclass(frozen=True)
class Column:
    """One column of the summary: its header, and how a row's cell reads."""

    header: str
    """A line break is where a narrow table may break it."""
    cell: Callable[[dict[str, Any]], str]
    source: str
    """Column of the frame; where nothing is measured in it, the summary leaves the column out."""
    is_number: bool = True
    dispensable: int = 0
    """What a narrow terminal leaves out: the highest first, never 0."""


def has_unusual_scale(frame: pd.DataFrame) -> bool:
    """Whether the scale of any row is another than the usual one of its head dim."""
    return bool(((frame["scale"] * frame["head_dim"] ** 0.5 - 1).abs() > SAME_SCALE).any())


def summary_title(frame: pd.DataFrame) -> str:
    """Return experiment and what all its rows share, `seq_sweep · cpu · f32 · heads 16 · threads 1`."""
    left_out = {*varying(frame, PROBLEM_COLUMNS), *NEVER_SHOWN}
    if not has_unusual_scale(frame):
        left_out.add("scale")
    words = [", ".join(dict.fromkeys(map(str, frame["experiment"].unique())))]
    first = records(frame.head(1))
    for column in PROBLEM_COLUMNS:
        if not first or column in left_out or column not in first[0]:
            continue
        value = first[0][column]
        if column in ("kv_heads", "head_dim_v", "seq_kv") and value == first[0][SAME_UNLESS_SAID[column]]:
            continue
        if is_missing(value) or value is False:
            continue
        words.append(str(value) if column in (*ALWAYS_IN_TITLE, "mask") else f"{column} {in_words(value)}")
    return " · ".join(words)


def problem_columns(frame: pd.DataFrame) -> list[Column]:
    """Return the columns of what varies between problems, then the series."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    changing = varying(frame, PROBLEM_COLUMNS)
    for column, origin in SAME_UNLESS_SAID.items():
        if column in changing and bool((frame[column] == frame[origin]).all()):
            changing.remove(column)
    if "scale" in changing and not has_unusual_scale(frame):
        changing.remove("scale")
    return [
        Column(
            header=HEADERS.get(name, name),
            cell=_cell_of(name, distinct_texts(frame[name].unique())),
            source=name,
            is_number=is_numeric_dtype(frame[name].dtype) and not is_bool_dtype(frame[name].dtype),
        )
        for name in changing
    ]


def _cell_of(name: str, text_of: Callable[[Any], str]) -> Callable[[dict[str, Any]], str]:
    return lambda row: EMPTY if is_missing(row[name]) else in_words(row[name], text_of)


def measured_columns(frame: pd.DataFrame) -> list[Column]:
    """Return the columns of series, status and measurements; those without any value are left out."""
    time, rate = units_of(frame)
    baselines = list(frame[BASELINE_LABEL].dropna().unique())
    against = f" vs {baselines[0]}" if len(baselines) == 1 else ""
    columns = [
        Column("variant", lambda row: str(row["label"]), "label", is_number=False),
        Column("status", lambda row: str(row["status"]), "status", is_number=False),
        Column(
            "error /\ntolerance", lambda row: beside_limit(row["error_ratio"]), "error_ratio", dispensable=5
        ),
        Column(f"time ({time.symbol})", lambda row: scaled(row["time_s"], time.factor), "time_s"),
        Column(
            "time\n[95 %]",
            lambda row: interval(row["time_low_s"], row["time_high_s"], time.factor),
            "time_low_s",
            dispensable=8,
        ),
        Column(rate.symbol, lambda row: scaled(row["tflops"], rate.factor), "tflops", dispensable=2),
        Column("% of\npeak", lambda row: percent(row["fraction_of_peak"]), "fraction_of_peak", dispensable=4),
        *(
            [Column("baseline", lambda row: _text(row[BASELINE_LABEL]), BASELINE_LABEL, is_number=False)]
            if len(baselines) > 1
            else []
        ),
        Column(f"speed-up{against}".replace(" vs", "\nvs"), lambda row: significant(row["speedup"]), SPEEDUP),
        Column(
            "speed-up\n[95 %]",
            lambda row: interval(row["speedup_low"], row["speedup_high"]),
            SPEEDUP_INTERVAL,
            dispensable=7,
        ),
        Column(
            "recompute", lambda row: significant(row["recompute_factor"]), "recompute_factor", dispensable=6
        ),
        *_build_columns(beside_times=bool(frame["time_s"].notna().any())),
        Column("noise\n(%)", lambda row: percent(row["noise"], digits=2), "noise", dispensable=3),
        Column("busy", lambda row: _busy(row["busy"]), "busy", is_number=False, dispensable=1),
    ]
    return [column for column in columns if column.source in frame and frame[column.source].notna().any()]


def _build_columns(beside_times: bool) -> list[Column]:
    """Return the columns of what is known of code without running it; beside times they matter less."""
    rank = 9 if beside_times else 4

    def whole(title: str, name: str) -> Column:
        return Column(title, lambda row: _whole(row[name]), name, dispensable=rank)

    return [
        whole("registers", "registers"),
        whole("spills", "spills"),
        whole("accumulator\nregisters", "accumulator_registers"),
        whole("scalar\nregisters", "scalar_registers"),
        whole("scratch\n(B)", "scratch_bytes"),
        Column(
            "shared\n(KiB)",
            lambda row: scaled(row["shared_bytes"], 1 / 1024),
            "shared_bytes",
            dispensable=rank,
        ),
        Column("occupancy\n(%)", lambda row: percent(row["occupancy"]), "occupancy", dispensable=rank),
        whole("bank\nconflicts", "bank_conflicts"),
        Column(
            "modelled\n% of peak",
            lambda row: percent(row["model.fraction_of_peak"]),
            "model.fraction_of_peak",
            dispensable=rank,
        ),
    ]


def _whole(value: Any) -> str:
    return EMPTY if is_missing(value) else str(int(value))


def _text(value: Any) -> str:
    return EMPTY if is_missing(value) else str(value)


def _busy(value: Any) -> str:
    if is_missing(value):
        return EMPTY
    return "busy" if value else "no"

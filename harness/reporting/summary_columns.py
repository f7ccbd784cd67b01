"""The columns of the summary: what tells problems apart, then series, status and what was measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from harness.reporting.beside_the_clock import MEASURED
from harness.reporting.distinct import is_of_numbers
from harness.reporting.frames import (
    BASELINE_LABEL,
    PROBLEM_COLUMNS,
    in_words,
    is_missing,
    records,
    units_of,
    varying,
)
from harness.reporting.measurement_notes import without_times
from harness.reporting.units import (
    EMPTY,
    beside_limit,
    interval,
    percent,
    scaled,
    significant,
)
from harness.results.result import SEQ

if TYPE_CHECKING:
    import pandas as pd

ALWAYS_IN_TITLE = ("target", "dtype")
NEVER_SHOWN = ("causal_alignment",)
"""Problem columns that stay out of titles; as columns they are shown where they vary."""
TILE = "tile_"
"""Begins the names of parameters that are sizes of tiles."""
SAME_SCALE = 1e-9
"""Scales that differ by less, relatively, are the same."""

SAME_UNLESS_SAID = {"kv_heads": "heads", "head_dim_v": "head_dim", "seq_kv": "seq_q"}
SPEEDUP = "speedup"
"""The frame's column whose cells may have a mark."""


@dataclass(frozen=True)
class Column:
    """One column of the summary: its header, and how a row's cell reads."""

    header: str
    """A line break is where a narrow table may break it."""
    source: str
    """Column of the frame; where nothing is measured in it, the summary leaves the column out."""
    text: Callable[..., str] = significant
    end: str | None = None
    """Column of the other end, where the cells are intervals."""
    is_number: bool = True
    on_terminal: bool = True
    """Whether a terminal has room for it; files have all columns."""

    def cell(self, row: dict[str, Any]) -> str:
        """Return how the cell of a row reads."""
        values = [row[name] for name in (self.source, self.end) if name is not None]
        return EMPTY if is_missing(values[0]) else self.text(*values)


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
        if not first or column in left_out or column not in first[0] or _follows(frame, column):
            continue
        value = first[0][column]
        if is_missing(value) or value is False:
            continue
        name = problem_header(frame, column)
        words.append(str(value) if column in (*ALWAYS_IN_TITLE, "mask") else f"{name} {in_words(value)}")
    return " · ".join(filter(None, [*words, without_times(set(frame["status"].astype(str)))]))


def problem_columns(frame: pd.DataFrame) -> list[Column]:
    """Return the columns of what varies between problems, then the series."""
    changing = [name for name in varying(frame, PROBLEM_COLUMNS) if not _follows(frame, name)]
    if "scale" in changing and not has_unusual_scale(frame):
        changing.remove("scale")
    return [
        Column(
            header=problem_header(frame, name),
            source=name,
            text=in_words,
            is_number=is_of_numbers(frame[name]),
        )
        for name in changing
    ]


def problem_header(frame: pd.DataFrame, column: str) -> str:
    """Return what a column of problems is called: `seq` stands for both lengths where they are equal."""
    return SEQ if column == "seq_q" and _follows(frame, "seq_kv") else column


def _follows(frame: pd.DataFrame, column: str) -> bool:
    """Whether a column is in all rows what it is unless somebody says otherwise."""
    origin = SAME_UNLESS_SAID.get(column)
    return origin is not None and bool((frame[column] == frame[origin]).all())


def measured_columns(frame: pd.DataFrame) -> list[Column]:
    """Return the columns of series, status and measurements; those without any value are left out."""
    time, rate = units_of(frame)
    baselines = list(frame[BASELINE_LABEL].dropna().unique())
    against = f"\nvs {baselines[0]}" if len(baselines) == 1 else ""
    units = list(frame["peak_unit"].dropna().unique())
    of_peak = f"% of peak\n({units[0]})" if len(units) == 1 else "% of\npeak"
    percents = partial(interval, factor=100.0)
    time_interval = partial(interval, factor=time.factor)
    of_code = not frame["time_s"].notna().any()
    has_tiles = bool((frame["chosen"] + frame["params"]).str.contains(TILE, regex=False).any())
    columns = [
        Column("variant", "label", str, is_number=False),
        Column("status", "status", str, is_number=False),
        Column("error /\ntolerance", "error_ratio", beside_limit),
        Column(f"time ({time.symbol})", "time_s", partial(scaled, factor=time.factor)),
        Column("time\n[95 %]", "time_low_s", time_interval, "time_high_s", on_terminal=False),
        Column(rate.symbol, "tflops", partial(scaled, factor=rate.factor)),
        *([Column("peak", "peak_unit", str, is_number=False)] if len(units) > 1 else []),
        Column(of_peak, "fraction_of_peak", percent),
        Column(
            "% of peak\n[95 %]", "fraction_of_peak_low", percents, "fraction_of_peak_high", on_terminal=False
        ),
        Column("peak's\nnoise (%)", "peak_noise", partial(percent, digits=2), on_terminal=False),
        *([Column("baseline", BASELINE_LABEL, str, is_number=False)] if len(baselines) > 1 else []),
        Column(f"speed-up{against}", SPEEDUP),
        Column("speed-up\n[95 %]", "speedup_low", interval, "speedup_high", on_terminal=False),
        Column("recompute", "recompute_factor", on_terminal=False),
        *([Column("tiles", "chosen", _tiles, "params", is_number=False, on_terminal=False)] * has_tiles),
        Column("registers", "registers", _whole, on_terminal=of_code),
        Column("spills", "spills", _whole, on_terminal=of_code),
        Column("accumulator\nregisters", "accumulator_registers", _whole, on_terminal=of_code),
        Column("scalar\nregisters", "scalar_registers", _whole, on_terminal=of_code),
        Column("scratch\n(B)", "scratch_bytes", _whole, on_terminal=of_code),
        Column("shared\n(KiB)", "shared_bytes", partial(scaled, factor=1 / 1024), on_terminal=of_code),
        Column("occupancy\n(%)", "occupancy", percent, on_terminal=of_code),
        Column("bank\nconflicts", "bank_conflicts", _whole, on_terminal=of_code),
        Column("narrow\nloads", "narrow_loads", _whole, on_terminal=False),
        Column("modelled\n% of peak", "model.fraction_of_peak", percent, on_terminal=of_code),
        Column("modelled\n% of peak of a call", "model.grid_fraction_of_peak", percent, on_terminal=False),
        Column("measured\n% of peak by clock", MEASURED, percent, on_terminal=False),
        Column("clock\n(MHz)", "clock_mhz", on_terminal=False),
        Column("noise\n(%)", "noise", partial(percent, digits=2), on_terminal=False),
        Column("busy", "busy", lambda busy: "busy" if busy else "no", is_number=False),
    ]
    return [column for column in columns if column.source in frame and frame[column.source].notna().any()]


def _whole(value: Any) -> str:
    return str(int(value))


def _tiles(chosen: str, params: str) -> str:
    """Return the sizes of tiles that were chosen or set, `tile_q=32 tile_kv=64`."""
    words = [word for word in f"{chosen} {params}".split() if word.startswith(TILE)]
    return " ".join(sorted(words, reverse=True)) or EMPTY

"""Measured peaks in a throughput figure: lines where the scale holds them, words in the corner elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from harness.reporting.figures.layout import describe_value
from harness.reporting.frames import RUN_COLUMNS, RUN_LABEL, run_names, several_values, varying
from harness.reporting.units import Unit, significant
from harness.results.refuted_peaks import credible_peaks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

IN_SIGHT = 1.6
"""A peak further above all data of a figure than this factor is written, not drawn to scale."""
MEASURED_FOR = ("target", "device", "threads", "dtype", "target_options")
"""Columns that a peak may depend on, besides the run: each measures its own."""
CROWDED = 0.07
"""The share of the scale that a line of words takes: lines nearer to each other have no room for it."""
SHOWN = "shown_peak"
"""Column of peaks as they are written: what is equal there counts as equal."""
TEXT_SIZE = 6.0
TEXT_LINE = 8.0
"""Points from one line of text in the corner to the next."""


@dataclass(frozen=True)
class Peak:
    """A measured peak, in the unit of the vertical axis."""

    value: float
    unit: Unit
    owner: str = ""
    """What it is the peak of, where a panel has rows that have another one, or none."""

    @property
    def text(self) -> str:
        """The words at the line."""
        words = f"measured peak {significant(self.value)} {self.unit.symbol}"
        return f"{words} ({self.owner})" if self.owner else words


def peaks_of(frame: pd.DataFrame, unit: Unit) -> list[Peak]:
    """Return the peaks that a panel's rows were compared with, each a measured one; equal ones count once.

    They are told apart, and from rows that have none, by what they were measured for and, where that is not
    enough, by their runs.  One without an owner is the peak of all rows that have a rate.
    """
    rows = _with_peaks(frame)
    names: list[str] = []
    for column in varying(rows, (*MEASURED_FOR, RUN_LABEL)):
        if several_values(rows, names, SHOWN):
            names.append(column)
    groups = rows.groupby(names, dropna=False, observed=True, sort=False) if names else [((), rows)]
    peaks: dict[str, Peak] = {}
    for values, members in groups:
        if members["peak_tflops"].isna().all():
            continue
        owner = ", ".join(_owner(name, value) for name, value in zip(names, values, strict=True))
        peak = Peak(float(members["peak_tflops"].max()) * unit.factor, unit, owner)
        equal = peaks.get(significant(peak.value))
        peaks[significant(peak.value)] = peak if equal is None else _joined(equal, peak)
    return sorted(peaks.values(), key=lambda peak: peak.value)


def _with_peaks(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that have a rate, each with the peak of what it ran on, also as it is written.

    While a run goes on, its highest peak so far counts.  A peak that any row of its run refutes is none.
    """
    rows = frame[frame["tflops"].notna()]
    found = credible_peaks(rows).fillna(rows["tflops"] / rows["fraction_of_peak"]).astype(float)
    rows = rows.assign(peak_tflops=found.where(found.gt(0) & found.lt(float("inf"))))
    rows[RUN_LABEL] = _run_names(rows)
    alike = rows.groupby([*MEASURED_FOR, RUN_LABEL], dropna=False, observed=True, sort=False)
    peaks = alike["peak_tflops"].transform("max")
    rows["peak_tflops"], rows[SHOWN] = peaks, peaks.map(significant)
    return rows


def _run_names(rows: pd.DataFrame) -> list[str]:
    """Return what the run of each row is called, in its series where they carry it."""
    if RUN_LABEL in rows:
        return list(rows[RUN_LABEL])
    names = run_names(rows)
    return [names[run] for run in zip(*(rows[column] for column in RUN_COLUMNS), strict=True)]


def _owner(column: str, value: Any) -> str:
    return str(value) if column == RUN_LABEL else describe_value(column, value)


def _joined(one: Peak, other: Peak) -> Peak:
    return replace(one, value=max(one.value, other.value), owner=f"{one.owner}; {other.owner}")


def values_in_sight(panels: Sequence[Sequence[Peak]], highest: float) -> list[float]:
    """Return the peaks of all panels that are near enough to the highest measurement for its scale."""
    return [peak.value for peaks in panels for peak in peaks if peak.value <= IN_SIGHT * highest]


def height_of_words(peaks: Sequence[Sequence[Peak]]) -> float:
    """Return how many points the words of any panel's peaks take, all in the corner."""
    return TEXT_LINE * max(map(len, peaks), default=0)


def draw_peaks(axes: Axes, peaks: Sequence[Peak], *, all_in_corner: bool = False) -> None:
    """Draw a panel's peaks; its vertical limits must be final.

    Words stand at the lines, or all in the corner, where lines are close to each other or to the words in the
    corner, or something else is written beside them.
    """
    top = axes.get_ylim()[1]
    lines = sorted(peak.value for peak in peaks if peak.value <= top)
    all_in_corner |= any(upper - lower < CROWDED * top for lower, upper in pairwise(lines))
    words_above = len(peaks) - len(lines)
    if words_above and lines:
        all_in_corner |= top - lines[-1] < CROWDED * top * (words_above + 1)
    for peak in peaks:
        if peak.value <= top:
            axes.axhline(peak.value, color="0.35", linewidth=0.8, linestyle=(0, (1, 1)), gid="peak")
            if not all_in_corner:
                _write(axes, peak.text, peak.value, above=True)
    in_corner = [peak for peak in peaks if all_in_corner or peak.value > top]
    in_corner.sort(key=lambda peak: -peak.value)
    for line, peak in enumerate(in_corner):
        text = f"{peak.text} ↑" if peak.value > top else peak.text
        _write(axes, text, top, lower_by=line * TEXT_LINE)


def _write(axes: Axes, text: str, height: float, *, above: bool = False, lower_by: float = 0.0) -> None:
    """Write at the panel's right edge, above or below a height of the vertical scale."""
    axes.annotate(
        text,
        (1, height),
        xycoords=("axes fraction", "data"),
        xytext=(-2, 1.5 if above else -2 - lower_by),
        textcoords="offset points",
        ha="right",
        va="bottom" if above else "top",
        fontsize=TEXT_SIZE,
        color="0.25",
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.2},
        gid="peak",
    )

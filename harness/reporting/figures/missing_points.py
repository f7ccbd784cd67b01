"""Where a line has no point: marker and word of each missing row, in a strip at the foot of a panel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.reporting.figures.legend import text_width
from harness.reporting.figures.style import STATUS_WORDS, SeriesStyle, marker_properties, text_color
from harness.reporting.frames import labels_in, records
from harness.reporting.units import is_number
from harness.status import Status

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from harness.reporting.figures.layout import PanelGrid

STATUS_LINE = 0.052
"""Height of one line of missing points, as a share of a panel."""
STATUS_SIZE = 5.0
MARKER_OFFSET = 9.0
"""Points from a missing point's place to its marker on the left; its status follows the marker."""
WORD_OFFSET = 3.5
"""Points from the marker to its word."""
ROOM_AT_EDGE = 10.0
"""Points right of a panel's last place that a word may take: a panel has little more there."""


@dataclass(frozen=True)
class MissingPoint:
    """A row that has no point: its place along the horizontal axis, its series, and why."""

    place: Any
    label: str
    word: str


MissingLines = Sequence[Sequence[MissingPoint]]
"""The missing points of a panel: one line a series that has any."""


def series_with(frame: pd.DataFrame, values: str) -> tuple[pd.DataFrame, dict[str, str]]:
    """Leave out series that have no value in a column anywhere, and return their statuses by label.

    An infinite value is one.
    """
    known = set(frame.loc[frame[values].notna(), "label"].unique())
    is_known = frame["label"].isin(known)
    if is_known.all():
        return frame, {}
    left_out = frame.loc[~is_known, ["label", "status"]]
    statuses: dict[str, str] = {
        str(label): ", ".join(dict.fromkeys(rows["status"]))
        for label, rows in left_out.groupby("label", observed=True)
    }
    return frame[is_known], statuses


def missing_lines(
    frame: pd.DataFrame, x: str, values: str, words: Mapping[Status, str] = STATUS_WORDS
) -> MissingLines:
    """Return the rows whose value is no finite number, each with the word for its status."""
    rows = frame[[not is_number(value) for value in frame[values]]].sort_values(["label", x])
    return [
        [
            MissingPoint(row[x], label, words[Status(row["status"])])
            for row in records(rows[rows["label"] == label])
        ]
        for label in labels_in(rows)
    ]


def strip_height(grid: PanelGrid, x: str, values: str, words: Mapping[Status, str] = STATUS_WORDS) -> float:
    """Return the share of every panel's height that the words for missing points need."""
    lines = max(len(missing_lines(panel.frame, x, values, words)) for panel in grid.panels)
    return (lines + 0.4) * STATUS_LINE if lines else 0.0


def write_missing(
    axes: Axes, lines: MissingLines, strip: float, styles: dict[str, SeriesStyle], last: Any
) -> None:
    """Write marker and word of each missing point into the strip at a panel's foot, one line a series.

    At the `last` place of the panel both move to the left, as far as a long word needs to stay inside.
    """
    from matplotlib.transforms import offset_copy

    place = axes.get_xaxis_transform()
    for number, line in enumerate(lines):
        height = strip - STATUS_LINE * (number + 0.75)
        for point in line:
            look = styles[point.label]
            left = MARKER_OFFSET
            if point.place == last:
                left = max(left, text_width(point.word, STATUS_SIZE) + WORD_OFFSET - ROOM_AT_EDGE)
            left_of_place = offset_copy(place, axes.get_figure(root=True), x=-left, units="points")
            (marker,) = axes.plot(
                [point.place], [height], transform=left_of_place, **marker_properties(look), gid="missing"
            )
            marker.set(linestyle="none", markersize=3.2, clip_on=False)
            axes.annotate(
                point.word,
                (point.place, height),
                xycoords=place,
                xytext=(WORD_OFFSET - left, 0),
                textcoords="offset points",
                va="center_baseline",
                fontsize=STATUS_SIZE,
                color=text_color(look),
                gid="missing",
                annotation_clip=False,
            )


def below_for_strip(low: float, high: float, strip: float) -> float:
    """Return where a logarithmic scale from `low` to `high` begins, with a strip below `low`."""
    return low / (high / low) ** (strip / (1 - strip))


def shade_strip(axes: Axes, strip: float) -> None:
    """Set the strip off from the values above it, where there is one."""
    if strip:
        edge = [strip, strip]
        axes.fill_between([0, 1], edge, transform=axes.transAxes, color="0.95", linewidth=0, zorder=0)
        axes.plot([0, 1], edge, transform=axes.transAxes, color="0.15", linewidth=0.6)

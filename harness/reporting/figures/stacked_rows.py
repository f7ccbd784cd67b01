"""Rows of stacked bars: the parts of a whole for each series, the same colour and hatch in every row."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness.reporting.figures.legend import add_legend, plan_legend
from harness.reporting.figures.row_bars import BAR, BarRow, RowColumn, RowSettings, draw_rows
from harness.reporting.figures.style import paper_style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from harness.reporting.figures.style import SeriesStyle

MOST_PARTS = 9
"""More parts than this nobody can tell apart: the smallest become one."""
OTHERS = "others"
PART_LOOKS = (
    ("#0173b2", ""),
    ("#de8f05", "////"),
    ("#029e73", "...."),
    ("#d55e00", "\\\\\\\\"),
    ("#56b4e9", "xxxx"),
    ("#ca9161", "----"),
    ("#cc78bc", "||||"),
    ("#3b3b3b", ""),
    ("#ece133", "++++"),
    ("#949494", "oo"),
)
"""Colour and hatch of the parts, the largest first; a palette that the colour-blind can tell apart."""

Stacks = Sequence[tuple[BarRow, Mapping[str, float]]]
"""The parts of each row by name."""


def draw_stacks(
    frame: pd.DataFrame,
    stacks: Stacks,
    settings: RowSettings,
    title: str,
    text: Callable[[float], str],
    caption: str,
) -> Drawing:
    """Draw a stack for each row, its sum beside it as `text` writes it, and a legend of the parts above."""
    shown = _with_few_parts(stacks)
    parts = list(dict.fromkeys(part for part in _by_size(shown)))
    looks = dict(zip(parts, itertools.cycle(PART_LOOKS), strict=False))

    def draw(axes: Axes, styles: dict[str, SeriesStyle]) -> None:
        for row, values in shown:
            left = 0.0
            for part in parts:
                value = values.get(part, 0.0)
                if value:
                    axes.barh(row.place, value, BAR, left=left, gid=part, **_fill(*looks[part]))
                left += value

    sums = [(row, sum(values.values())) for row, values in shown]
    column = RowColumn(title, [(row, total, text(total)) for row, total in sums], draw)
    with paper_style(settings.font):
        legend = plan_legend(parts, settings.title, settings.inches)
        rows = [row for row, _ in shown]
        drawing = draw_rows(frame, rows, [column], settings, caption, heading_height=legend.height)
        add_legend(drawing, legend, [_handle(*looks[part]) for part in parts])
    return drawing


def _with_few_parts(stacks: Stacks) -> Stacks:
    """Put the smallest parts together where there are too many."""
    ordered = _by_size(stacks)
    if len(ordered) <= MOST_PARTS + 1:
        return stacks
    kept = ordered[:MOST_PARTS]
    return [
        (
            row,
            {
                **{part: value for part, value in values.items() if part in kept},
                OTHERS: sum(value for part, value in values.items() if part not in kept),
            },
        )
        for row, values in stacks
    ]


def _by_size(stacks: Stacks) -> list[str]:
    """Return the parts, those first that are largest in any row; what stands for others comes last."""
    largest: dict[str, float] = {}
    for _, values in stacks:
        for part, value in values.items():
            largest[part] = max(largest.get(part, 0.0), value)
    found = [part for part, value in largest.items() if value > 0]
    return sorted(found, key=lambda part: (part == OTHERS, -largest[part]))


def _fill(color: str, hatch: str) -> dict[str, Any]:
    return {"color": color, "hatch": hatch, "edgecolor": "white", "linewidth": 0.4}


def _handle(color: str, hatch: str) -> Any:
    from matplotlib.patches import Patch

    return Patch(facecolor=color, hatch=hatch, edgecolor="white", linewidth=0.4)

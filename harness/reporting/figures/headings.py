"""Headings of panels: wrapped, so that each stays above its own panel."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from harness.reporting.figures.legend import FILLED, wrap
from harness.reporting.figures.style import FONT_SIZES, POINTS_PER_INCH

if TYPE_CHECKING:
    from harness.reporting.figures.layout import PanelGrid

HEADING_SIZE = float(FONT_SIZES["axes.titlesize"])
LINE_INCHES = 1.2 * HEADING_SIZE / POINTS_PER_INCH
"""Of a heading's further lines; room for the first is part of a panel's height."""
LEFT_OF_PANELS = 0.6
"""Inches left of the first panel of a row, for the label and the ticks of its vertical axis."""
BETWEEN_PANELS = 0.1
"""Inches beside each panel that are not its own."""
LEAST_ROOM = 0.5
"""Inches of a heading's line below which a letter or two stand in each."""


def wrapped_headings(grid: PanelGrid, width: float, left: float = LEFT_OF_PANELS) -> list[str]:
    """Return the heading of each panel, with line breaks where it is wider than the panel's axes.

    The figure is `width` inches wide, of which `left` are left of the panels' axes.
    """
    inches = max((width - left) / grid.columns - BETWEEN_PANELS, LEAST_ROOM)
    return [wrap(panel.heading, HEADING_SIZE, FILLED * inches * POINTS_PER_INCH) for panel in grid.panels]


def further_lines(grid: PanelGrid, headings: list[str]) -> float:
    """Return the inches of height that lines of headings after the first take, of all rows of panels."""
    pairs = sorted(
        (panel.row, heading.count("\n")) for panel, heading in zip(grid.panels, headings, strict=True)
    )
    rows = itertools.groupby(pairs, key=lambda pair: pair[0])
    return LINE_INCHES * sum(max(lines for _, lines in of_row) for _, of_row in rows)

"""Lines of counted quantities over a size, on a logarithmic scale: what memory and errors share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness.reporting.figures.base import NothingToDraw
from harness.reporting.figures.over_sizes import (
    NO_MEASUREMENT,
    SizeSettings,
    draw_over_sizes,
    series_with,
    with_values,
)
from harness.reporting.figures.places import along
from harness.reporting.figures.style import series_styles
from harness.reporting.units import is_number
from harness.status import Status

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing


def on_scale(frame: pd.DataFrame, values: str) -> pd.DataFrame:
    """Leave out the rows whose number has no place on a logarithmic scale, which is 0.

    Rows without a finite number stay: a word stands in their place.
    """
    return frame[[not is_number(value) or value > 0 for value in frame[values]]]


def known_series(
    frame: pd.DataFrame, values: str, settings: SizeSettings
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return the placed rows of the series that have a value anywhere, and the other series' statuses.

    Raises `NothingToDraw` where no row that has a place has a finite number above 0.
    """
    placed, x = along(frame, settings.x)
    if not any(is_number(value) and value > 0 for value in placed[values]):
        raise NothingToDraw(f"no case that has {x}, which this is over, has such a value")
    return series_with(placed, values)


def left_out_note(statuses: Mapping[str, str], settings: SizeSettings) -> list[str]:
    """Return a sentence on the series that have no value anywhere, by their statuses."""
    named = ", ".join(f"{settings.display(label)} ({why})" for label, why in statuses.items())
    return [f"Without any value, so not shown: {named}."] if named else []


def draw_logarithmic(
    frame: pd.DataFrame,
    shown: pd.DataFrame,
    values: Iterable[float],
    y_label: str,
    settings: SizeSettings,
    caption: str,
    notes: Sequence[str],
    **more: Any,
) -> Drawing:
    """Draw values of the rows `shown`, each series in its style of the whole frame; see `draw_over_sizes`."""
    shown = with_values(shown, values, word=lambda row: NO_MEASUREMENT[Status(row["status"])])
    shown, x = along(shown, settings.x)
    return draw_over_sizes(
        shown,
        x,
        y_label,
        series_styles(frame),
        settings,
        caption,
        notes,
        is_logarithmic=True,
        **more,
    )

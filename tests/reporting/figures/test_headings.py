"""Headings of panels and columns: however long, each stays above its own, beside and below all others."""

from itertools import combinations
from typing import Any

import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.transforms import Bbox
from rows_of_all_figures import drawable
from sweeps import sweep
from synthetic_results import make_result

from harness import plugins
from harness.experiment.figure_settings import parse_settings
from harness.reporting.figures.base import draw_figure
from harness.reporting.figures.layout import panel_grid
from harness.reporting.frames import prepare
from harness.results.frame import results_frame

VARIANTS = {"unfused": 1.0, "flash": 3.0}
LONG_WORDS = (
    {"target": "cuda:sm_90a", "dtype": "bf16", "mask": "causal-window-128-bottom-right"},
    {"target": "xegpu:some-chip-with-a-name-that-has-no-space", "softcap": 30.0, "log_sum_exp": True},
    {"target": "cpu:avx512", "dtype": "f16", "scale": 0.5, "kv_heads": 4, "model_width": 4096},
    {"target": "cpu", "sinks": True},
)
"""What differs between panels of four problems."""
CODE = {
    "spills": 4,
    "scratch_bytes": 16,
    "shared_bytes": 49152,
    "bank_conflicts": 8,
    "occupancy": 0.5,
    "code_bytes": 12345,
}
"""All that resources has a column for, besides registers."""
FIGURES = (*plugins.names("figure"), "throughput bars")
ROUNDING = 1.0
"""Dots that a rendered text may be wider than a measured one."""


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rows = [
        drawable(variant, seq, factor, case=f"{variant}-{number}-{seq}", **CODE, **words)
        for number, words in enumerate(LONG_WORDS)
        for variant, factor in VARIANTS.items()
        for seq in (256, 512)
    ]
    return prepare(results_frame(rows), tuple(VARIANTS))


def draw(frame: pd.DataFrame, name: str, **settings: Any) -> Drawing:
    name, _, style = name.partition(" ")
    figure, chosen = plugins.load("figure", name), {"style": style} if style else {}
    drawing = draw_figure(figure, frame, parse_settings(figure, {**chosen, **settings}), "the caption")
    drawing.draw_without_rendering()
    return drawing


def shown_axes(drawing: Drawing) -> list[Axes]:
    return [axes for axes in drawing.axes if axes.get_visible() and axes.get_title()]


def overlap(one: Bbox, other: Bbox) -> bool:
    width = min(one.x1, other.x1) - max(one.x0, other.x0)
    return width > 0 and min(one.y1, other.y1) - max(one.y0, other.y0) > 0


@pytest.mark.parametrize("width", ["page", "column"])
@pytest.mark.parametrize("name", sweep(FIGURES, but=["throughput", "bounds", "resources", "speedup"]))
def test_long_headings_stay_above_their_own_panels(frame: pd.DataFrame, name: str, width: str) -> None:
    drawing = draw(frame, name, width=width)
    headings = [axes.title.get_window_extent() for axes in shown_axes(drawing)]
    others = [axes.get_window_extent() for axes in drawing.axes if axes.get_visible()]
    others += [legend.get_window_extent() for legend in drawing.legends]
    assert not any(overlap(*pair) for pair in combinations(headings, 2))
    assert not any(overlap(heading, other) for heading in headings for other in others)
    forms = [text for axes in drawing.axes for text in axes.texts if text.get_gid() == "form"]
    assert all(form.get_window_extent().x1 <= drawing.bbox.width for form in forms)
    for axes, heading in zip(shown_axes(drawing), headings, strict=True):
        own = axes.get_window_extent()
        assert own.x0 - ROUNDING <= heading.x0
        assert heading.x1 <= own.x1 + ROUNDING
        assert heading.y1 <= drawing.bbox.height


def test_long_names_of_series_leave_room_for_headings(frame: pd.DataFrame) -> None:
    name = "a series of a name that is much longer than a column of a page has room for beside its bars"
    drawing = draw(frame, "bounds", width="column", names={"flash": name})
    for axes in shown_axes(drawing):
        own, heading = axes.get_window_extent(), axes.title.get_window_extent()
        assert own.x0 - ROUNDING <= heading.x0
        assert heading.x1 <= own.x1 + ROUNDING
        assert own.width > drawing.bbox.width / 2


@pytest.mark.parametrize("column", ["threads", "model_width"])
@pytest.mark.parametrize("columns", [("mask", "COLUMN"), ("COLUMN", "mask"), ("COLUMN",)])
def test_panels_are_split_by_numbers_of_which_some_are_missing(column: str, columns: tuple[str, ...]) -> None:
    rows = [
        make_result(mask=mask, case=f"{mask} {number}", **{column: number})
        for mask in ("full", "causal")
        for number in (4, None, 16)
    ]
    frame = prepare(results_frame(rows))
    assert str(frame[column].dtype) == "Int64"
    by = [column if name == "COLUMN" else name for name in columns]
    grid = panel_grid(frame, by, most_columns=3)
    assert [len(panel.frame) for panel in grid.panels] == [2 // len(by)] * len(grid.panels)
    word = f"{column.replace('_', ' ')} –"
    missing = [panel for panel in grid.panels if word in panel.heading]
    assert all(panel.frame[column].isna().all() for panel in missing)
    assert (len(grid.panels), len(missing)) == ((6, 2) if len(by) == 2 else (3, 1))

"""How series look, and that nothing of a drawing is cut off."""

from typing import Any

import matplotlib.colors
import pandas as pd
import pytest
from matplotlib.figure import Figure as Drawing
from rows_of_all_figures import drawable
from synthetic_results import make_result

from harness import plugins
from harness.experiment.figure_settings import parse_settings
from harness.reporting.figures.style import DOTTED, STATUS_WORDS, paper_style, series_styles
from harness.reporting.frames import prepare
from harness.results.frame import results_frame
from harness.system.status import Status

ROUNDING = 0.02
"""Inches that hinted letters may be wider than they are laid out."""
VARIANTS = {"unfused": 1.0, "naive": 2.0, "flash": 3.0}


def test_all_series_differ_without_colour(sweep: pd.DataFrame) -> None:
    styles = series_styles(sweep).values()
    assert len({style.marker for style in styles}) == len(styles)
    assert not any(style.is_published or style.line == DOTTED for style in styles)
    dark = [style for style in styles if sum(matplotlib.colors.to_rgb(style.color)) < 1]
    assert len({style.hatch for style in styles if style not in dark}) == len(styles) - len(dark)


def test_known_colours_are_of_the_colour_blind_palette() -> None:
    import seaborn

    names = ["flash", "naive", "iree", "iree-unfused", "torch", "torch-unfused", "new-one", "new-two"]
    styles = series_styles(prepare(results_frame(make_result(name) for name in names), names))
    palette = {color.lower() for color in seaborn.color_palette("colorblind").as_hex()}
    assert {style.color for style in styles.values()} <= palette
    assert len({style.color for style in styles.values()}) == len(names)


def test_parameter_sets_of_a_variant_look_different() -> None:
    rows = [make_result("flash", params={"tile_kv": tile}) for tile in range(16)]
    styles = series_styles(prepare(results_frame(rows))).values()
    assert len({(style.marker, style.line) for style in styles}) == 16


def test_every_status_has_a_word_of_its_own() -> None:
    assert set(STATUS_WORDS) == set(Status)
    assert len(set(STATUS_WORDS.values())) == len(Status)


def test_a_user_s_settings_of_matplotlib_do_not_count() -> None:
    with matplotlib.rc_context({"font.size": 30, "text.usetex": True}):
        with paper_style():
            assert (matplotlib.rcParams["font.size"], matplotlib.rcParams["text.usetex"]) == (8, False)
        assert matplotlib.rcParams["font.size"] == 30


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Rows of two panels that every figure can draw; one of them failed."""
    rows = [
        drawable(variant, seq, factor, mask=mask, trial=1)
        for variant, factor in VARIANTS.items()
        for seq in (256, 512)
        for mask in ("full", "causal")
    ]
    rows.append(make_result("flash", 1024, status=Status.UNSUPPORTED, mask="full", baseline="unfused"))
    return prepare(results_frame(rows), tuple(VARIANTS))


def draw(frame: pd.DataFrame, name: str, **settings: Any) -> Drawing:
    figure = plugins.load("figure", name)
    caption = "Machine, problem, code and date. " * 8
    drawing = figure.draw(frame, parse_settings(figure, settings), caption)
    drawing.draw_without_rendering()
    return drawing


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("width", ["page", pytest.param("column", marks=pytest.mark.sweep)])
@pytest.mark.parametrize("name", plugins.names("figure"))
def test_nothing_is_cut_off_at_the_edges(frame: pd.DataFrame, name: str, width: str) -> None:
    names = {"flash": "a name that is a good deal longer than names of series are"}
    drawing = draw(frame, name, width=width, title="A title", names=names)
    box = drawing.get_tightbbox()
    inches = drawing.get_size_inches()
    assert min(box.x0, box.y0) >= -ROUNDING
    assert box.x1 <= inches[0] + ROUNDING
    assert box.y1 <= inches[1] + ROUNDING

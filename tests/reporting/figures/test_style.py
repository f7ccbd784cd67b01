from pathlib import Path

import matplotlib
import matplotlib.colors
import pandas as pd
from matplotlib.figure import Figure
from synthetic_results import make_result

from harness.reporting.figures.base import save
from harness.reporting.figures.style import STATUS_WORDS, paper_style, series_styles, text_color
from harness.reporting.frames import prepare
from harness.results.frame import results_frame
from harness.status import Status


def luminance(color: str) -> float:
    red, green, blue = matplotlib.colors.to_rgb(color)
    return 0.299 * red + 0.587 * green + 0.114 * blue


def test_all_series_differ_without_colour(sweep: pd.DataFrame) -> None:
    styles = series_styles(sweep).values()
    assert len({(style.marker, style.is_hollow) for style in styles}) == len(styles)
    assert len({style.hatch for style in styles if luminance(style.color) > 0.36}) == len(styles) - 2


def test_known_colours_are_of_the_colour_blind_palette() -> None:
    import seaborn

    names = ["flash", "naive", "iree", "iree-unfused", "torch", "torch-unfused", "new-one", "new-two"]
    styles = series_styles(prepare(results_frame(make_result(name) for name in names), names))
    palette = {color.lower() for color in seaborn.color_palette("colorblind").as_hex()}
    assert {style.color for style in styles.values()} <= palette
    assert len({style.color for style in styles.values()}) == len(names)


def test_no_two_series_of_a_large_merge_have_colour_and_marker_in_common() -> None:
    names = ["flash", "naive", "unfused", "torch", *(f"new-{number}" for number in range(6))]
    rows = [
        make_result(name, run=run, params={"tile_kv": tile})
        for name in names
        for run in ("monday", "tuesday")
        for tile in (16, 32, 64, 128, 256, 512)
    ]
    styles = series_styles(prepare(results_frame(rows), names)).values()
    assert len(styles) == 120
    assert len({(style.color, style.marker) for style in styles}) == len(styles)


def test_a_variant_looks_the_same_in_every_company(sweep: pd.DataFrame) -> None:
    alone = series_styles(prepare(results_frame([make_result("torch")])))
    assert alone["torch"] == series_styles(sweep)["torch"]


def test_small_text_is_dark_enough_on_white(sweep: pd.DataFrame) -> None:
    assert all(luminance(text_color(style)) <= 0.42 for style in series_styles(sweep).values())


def test_every_status_has_a_word_of_its_own() -> None:
    assert set(STATUS_WORDS) == set(Status)
    assert len(set(STATUS_WORDS.values())) == len(Status)


def test_more_series_of_a_variant_than_there_are_looks_have_looks_again() -> None:
    rows = [make_result("flash", params={"tile_kv": tile}, case=str(tile)) for tile in range(60)]
    assert len(series_styles(prepare(results_frame(rows)))) == 60


def test_a_user_s_own_settings_of_matplotlib_change_no_file(tmp_path: Path) -> None:
    own = {"text.usetex": True, "savefig.bbox": "tight", "savefig.dpi": 40, "font.size": 30}
    files = []
    for name, settings in (("without", {}), ("with", own)):
        with matplotlib.rc_context(settings):
            with paper_style():
                drawing = Figure(figsize=(3, 2), layout="constrained")
                drawing.subplots().plot([1, 2], label="2^x")
            files += save(drawing, tmp_path / name, ("png", "svg"))
            assert matplotlib.rcParams["text.usetex"] == ("text.usetex" in settings)
    plain, changed = files[:2], files[2:]
    assert [file.read_bytes() for file in plain] == [file.read_bytes() for file in changed]

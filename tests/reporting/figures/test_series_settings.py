"""Settings of figures of series: limits and sharing of the vertical axis, order, colours and markers."""

from typing import Any

import pytest
from drawings import caption, draw, heights, legend, words
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from synthetic_results import make_result

from harness.experiment.figure_settings import parse_settings
from harness.reporting.figures.memory import Memory
from harness.reporting.figures.speedup import Speedup
from harness.reporting.figures.throughput import Throughput
from harness.results.result import Result
from harness.system.errors import InputError


def rates(**rate_of_masks: float) -> list[Result]:
    """Return rows of a panel each, of these rates in GFLOP/s."""
    return [
        make_result(variant, mask=mask, case=f"{variant} {mask}", time_s=1.0, tflops=factor * rate / 1e3)
        for mask, rate in rate_of_masks.items()
        for variant, factor in (("flash", 1.0), ("naive", 0.5))
    ]


def tops(*rows: Result, **settings: Any) -> list[float]:
    """Return the upper ends of the vertical axes."""
    return [axes.get_ylim()[1] for axes in draw(Throughput(), *rows, **settings).axes if axes.get_visible()]


def test_panels_of_another_magnitude_have_axes_of_their_own() -> None:
    far = rates(full=100.0, causal=3.0)
    full, causal = tops(*far)
    assert causal < 6 < 100 < full < 200
    alike = tops(*rates(full=100.0, causal=60.0))
    assert alike[0] == alike[1]


def test_panels_that_are_alike_share_an_axis_beside_others() -> None:
    drawing = draw(Throughput(), *rates(full=100.0, causal=3.0, window=80.0, lengths=2.5))
    shared = drawing.axes[0].get_shared_y_axes()
    groups = {
        frozenset(other.get_title().split()[0] for other in shared.get_siblings(axes))
        for axes in drawing.axes
    }
    assert groups == {frozenset({"full", "window"}), frozenset({"causal", "lengths"})}
    named = [axes.yaxis.get_tick_params()["labelleft"] for axes in drawing.axes]
    headings = [axes.get_title().split()[0] for axes in drawing.axes]
    assert dict(zip(headings, named, strict=True)) == dict.fromkeys(headings, True)


def test_sharing_can_be_asked_for() -> None:
    far, alike = rates(full=100.0, causal=3.0), rates(full=100.0, causal=60.0)
    assert len(set(tops(*far, sharey=True))) == 1
    assert len(set(tops(*alike, sharey=False))) == 2


def test_one_logarithmic_axis_shows_all_magnitudes() -> None:
    rows = [
        make_result(mask=mask, bytes=size, workspace_bytes=0)
        for mask, size in (("full", 10**9), ("causal", 10**6))
    ]
    first, second = draw(Memory(), *rows).axes
    assert first.get_ylim() == second.get_ylim()


def speedups(*values: float) -> list[Result]:
    rows = [make_result("unfused", time_s=1.0, speedup=1.0, baseline="unfused")]
    known = {"time_s": 1.0, "baseline": "unfused"}
    return rows + [
        make_result("flash", 256 * 2**place, speedup=of, **known) for place, of in enumerate(values)
    ]


def limits(axes: Axes) -> tuple[float, float]:
    low, high = axes.get_ylim()
    return round(low, 6), round(high, 6)


def test_a_speed_up_can_start_elsewhere_than_at_0() -> None:
    drawing = draw(Speedup(), *speedups(0.7, 1.1, 3.0), y_limits=[0.8, 1.5])
    (axes,) = drawing.axes
    assert limits(axes) == (0.8, 1.5)
    assert all(0.8 <= tick <= 1.5 for tick in axes.get_yticks())
    assert heights(axes) == [0.7, 1.1, 3.0]
    assert all(0.8 <= text.xy[1] <= 1.5 for text in axes.texts)  # type: ignore[attr-defined]
    assert words(axes) == ["0.700", "1.10", "3.00"]
    assert "Cut off at the limits of the axis: 2 of 3 values." in caption(drawing)


def test_one_end_of_the_axis_can_stay_open() -> None:
    (axes,) = draw(Speedup(), *speedups(1.1, 1.3), y_limits=[0.9, "auto"]).axes
    assert limits(axes)[0] == 0.9
    assert limits(axes)[1] > 1.3


@pytest.mark.parametrize(
    ("figure", "limits", "message"),
    [
        (Speedup(), [9, "auto"], "y_limits: found 9 and .*, expected the first below the second"),
        (Memory(), [0, 9], "expected the first below the second and above 0, since the axis is logarithmic"),
    ],
)
def test_limits_that_no_axis_can_have_are_told(figure: Any, limits: list[Any], message: str) -> None:
    known = {"bytes": 10**6, "workspace_bytes": 0}
    rows = [row.model_copy(update=known) for row in speedups(1.1, 1.3)]
    with pytest.raises(InputError, match=message):
        draw(figure, *rows, y_limits=limits)


VARIANTS = ("flash", "torch", "unfused", "naive")
ROWS = [make_result(variant, time_s=1.0, tflops=0.1) for variant in VARIANTS]


def colors(**settings: Any) -> dict[str, str]:
    (entries,) = draw(Throughput(), *ROWS, **settings).legends
    return {
        text.get_text(): to_hex(handle.get_color())  # type: ignore[union-attr]
        for text, handle in zip(entries.get_texts(), entries.legend_handles, strict=True)
    }


def test_series_that_are_ordered_stand_first() -> None:
    drawing = draw(Throughput(), *ROWS, order=["naive", "torch"])
    assert legend(drawing) == ["naive", "torch", "flash", "unfused"]
    tiles = [make_result("naive", params={"tile_kv": tile}, time_s=1.0) for tile in (32, 64)]
    tiled = draw(Throughput(), *ROWS[:1], *tiles, order=["naive tile_kv=64", "naive"])
    assert legend(tiled) == ["naive tile_kv=64", "naive tile_kv=32", "flash"]


def test_series_of_one_name_are_told_apart() -> None:
    drawing = draw(Throughput(), *ROWS, names={"flash": "ours", "naive": "ours"})
    assert legend(drawing) == ["ours (flash)", "torch", "unfused", "ours (naive)"]


def test_an_order_changes_no_colour() -> None:
    assert colors(order=["naive"]) == colors()


def test_a_palette_is_a_name_a_list_or_a_table() -> None:
    import seaborn

    named = seaborn.color_palette("Set2", len(VARIANTS)).as_hex()
    assert colors(palette="Set2") == dict(zip(VARIANTS, named, strict=True))
    listed = ["#000001", "#000002", "#000003", "#000004"]
    assert colors(palette=listed, order=["naive"]) == dict(zip(["naive", *VARIANTS[:3]], listed, strict=True))
    assert colors(palette={"torch": "#123456"}) == {**colors(), "torch": "#123456"}


def test_markers_are_of_series_in_a_list_or_a_table() -> None:
    (axes,) = draw(Throughput(), *ROWS[:2], markers={"flash": "v"}).axes
    usual, listed = (
        draw(Throughput(), *ROWS[:2], **settings).axes[0] for settings in ({}, {"markers": ["*", "x"]})
    )

    def markers(axes: Axes) -> dict[Any, Any]:
        return {entry.get_label(): entry.lines[0].get_marker() for entry in axes.containers}  # type: ignore[attr-defined]

    assert markers(axes) == {**markers(usual), "flash": "v"}
    assert markers(listed) == {"flash": "*", "torch": "x"}


def test_too_few_colours_are_told() -> None:
    with pytest.raises(
        InputError, match="palette: found 1 for the 4 series flash, torch, unfused, naive, expected"
    ):
        draw(Throughput(), *ROWS, palette=["red"])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"y_limits": [2, 1]}, "y_limits: found [2, 1], expected [low, high], each a number"),
        ({"y_limits": "12"}, 'y_limits: found "12", expected [low, high]'),
        ({"sharey": "row"}, "sharey: Input should be 'auto', True or False, found \"row\""),
        ({"palette": "Set22"}, 'palette: found "Set22", expected "colorblind" or another palette of seaborn'),
        ({"palette": {"flash": "gren"}}, 'palette: found "gren", expected'),
        ({"markers": ["o", "oo"]}, 'markers: found "oo", expected markers of matplotlib'),
        ({"palette": {"flsh": "red"}}, "palette: unknown variant 'flsh' (did you mean flash?)"),
    ],
)
def test_a_mistake_is_one_line(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_settings(Throughput(), values, VARIANTS)
    assert str(caught.value).startswith(f"figures.throughput.{message}")
    assert "\n" not in str(caught.value)

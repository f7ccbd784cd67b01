"""Numbers at the ticks of logarithmic scales, in every figure that has one, whatever the scale holds."""

import itertools
from collections.abc import Iterator

import pytest
from matplotlib.axis import Axis
from matplotlib.figure import Figure as Drawing
from sweeps import sweep
from synthetic_results import make_result

from harness import plugins
from harness.experiment.figure_settings import parse_settings
from harness.reporting.figures.base import NothingToDraw
from harness.reporting.figures.log_ticks import MOST_TICKS, log_ticks, tick_text
from harness.reporting.frames import prepare
from harness.results.frame import results_frame
from harness.results.result import Result
from harness.status import Status

WITH_LOG_SCALES = ("error_growth", "memory", "recompute", "roofline", "throughput")
OTHER_AXES = {"error_growth": ("absolute",), "memory": ("peak",), "throughput": ("time",)}
STARTS = (1.1, 3.2, 5.3)
"""Values that have no or one power of ten, or what divides decades, beside them."""
SPREADS = (1.0, 1.3, 1e4)


def rows(start: float, spread: float) -> list[Result]:
    """Return two rows whose values are so far apart, and one that failed."""
    return [
        make_result(
            "flash",
            seq,
            time_s=value,
            recompute_factor=value,
            error_ratio=value,
            max_abs_error=value * 1e-7,
            bytes=round(value * 1e6),
            workspace_bytes=0,
            peak_bytes=round(value * 1e9),
            flops=10**9,
            intensity=value,
        )
        for seq, value in ((256, start), (512, start * spread))
    ] + [make_result("flash", 1024, status=Status.CRASHED)]


def drawings(name: str, results: list[Result]) -> Iterator[Drawing]:
    """Yield a figure, also with the other vertical axes that it can have."""
    figure = plugins.load("figure", name)
    frame = prepare(results_frame(results), ("flash",))
    yield figure.draw(frame, parse_settings(figure, {}), "")
    for y in OTHER_AXES.get(name, ()):
        yield figure.draw(frame, parse_settings(figure, {"y": y}), "")


def log_axes(drawing: Drawing) -> list[Axis]:
    drawing.draw_without_rendering()
    return [
        axis
        for axes in drawing.axes
        for axis in (axes.xaxis, axes.yaxis)
        if axes.get_visible() and axis.get_scale() == "log"
    ]


def numbers(axis: Axis) -> list[tuple[float, str]]:
    """Return the places and texts of the ticks that can be seen."""
    low, high = axis.get_view_interval()
    texts = [label.get_text() for label in axis.get_ticklabels()]
    places = [float(place) for place in axis.get_majorticklocs()]
    return [(place, text) for place, text in zip(places, texts, strict=True) if low <= place <= high and text]


@pytest.mark.parametrize("spread", sweep(SPREADS, but=SPREADS[:1]))
@pytest.mark.parametrize("name", WITH_LOG_SCALES)
def test_every_logarithmic_scale_has_two_numbers(name: str, spread: float) -> None:
    for start in STARTS:
        for drawing in drawings(name, rows(start, spread)):
            found = [numbers(axis) for axis in log_axes(drawing)]
            assert found
            for of_axis in found:
                assert len(of_axis) >= 2
                assert all(float(text) == pytest.approx(place) for place, text in of_axis)


@pytest.mark.parametrize("name", sorted(set(plugins.names("figure")) - set(WITH_LOG_SCALES)))
def test_no_other_figure_has_a_logarithmic_scale(name: str) -> None:
    try:
        assert not any(log_axes(drawing) for drawing in drawings(name, rows(1.1, 3.0)))
    except NothingToDraw:
        pytest.skip("draws nothing of these rows")


@pytest.mark.parametrize(
    ("ends", "base", "ticks"),
    [
        ((0.5, 200.0), 10, [1, 10, 100]),
        ((1e-12, 2e6), 10, [1e-12, 1e-9, 1e-6, 1e-3, 1, 1e3, 1e6]),
        ((0.9, 60.0), 10, [1, 2, 5, 10, 20, 50]),
        ((2.1, 4.7), 10, [3, 4]),
        ((1.1, 1.9), 10, [1.2, 1.4, 1.6, 1.8]),
        ((0.7, 9.0), 2, [1, 2, 4, 8]),
        ((1.1, 3.9), 2, [2, 3]),
    ],
)
def test_ticks_are_powers_or_divide_decades_or_are_steps(
    ends: tuple[float, float], base: int, ticks: list[float]
) -> None:
    assert log_ticks(*ends, base) == pytest.approx(ticks)


@pytest.mark.parametrize("base", [2, 10])
def test_any_two_ends_have_ticks_between_them_whose_texts_are_numbers(base: int) -> None:
    for start, magnitude, spread in itertools.product(
        (1.0, 1.1, 2.1, 3.9, 5.2, 7.7), (1e-12, 1e-5, 1.0, 1e6), (1.01, 1.3, 2.3, 4.0, 9.9, 1e3, 1e9)
    ):
        low, high = start * magnitude, start * magnitude * spread
        ticks = log_ticks(low, high, base)
        assert 2 <= len(ticks) <= MOST_TICKS
        assert all(low <= tick * (1 + 1e-9) and tick * (1 - 1e-9) <= high for tick in ticks)
        assert [float(tick_text(tick)) for tick in ticks] == pytest.approx(ticks, rel=1e-5)
        assert len(set(map(tick_text, ticks))) == len(ticks)

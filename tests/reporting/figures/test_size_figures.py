"""Figures over a size, and that of executed operations against time."""

import math
from typing import Any

import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from synthetic_results import make_result

from harness.experiment.figure_settings import parse_settings
from harness.reporting.figures.base import Figure, NothingToDraw
from harness.reporting.figures.error_growth import ErrorGrowth
from harness.reporting.figures.memory import Memory
from harness.reporting.figures.recompute import Recompute
from harness.reporting.frames import prepare
from harness.results.frame import results_frame
from harness.results.result import Result
from harness.status import Status


def draw(figure: Figure, *results: Result, **settings: Any) -> Drawing:
    frame: pd.DataFrame = prepare(results_frame(results), ("flash", "naive"))
    return figure.draw(frame, parse_settings(figure, settings), "the caption")


def points(axes: Axes, label: str) -> list[tuple[float, float]]:
    found = [line for line in axes.lines if line.get_label() == label]
    found += [bars.lines[0] for bars in axes.containers if bars.get_label() == label]  # type: ignore[attr-defined]
    (line,) = found
    return [(float(x), float(y)) for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)]  # type: ignore[arg-type]


def lines(axes: Axes, kind: str) -> list[Any]:
    return [line for line in axes.lines if line.get_gid() == kind]


def caption(drawing: Drawing) -> str:
    (text,) = [text.get_text() for text in drawing.texts if text.get_gid() == "caption"]
    return " ".join(text.split())


MIB = 2**20
HELD = [
    make_result("flash", seq, bytes=seq * MIB, workspace_bytes=0, peak_bytes=900 * MIB) for seq in (64, 128)
] + [make_result("unfused", 64, bytes=64 * MIB, workspace_bytes=16 * MIB, peak_bytes=950 * MIB)]


def test_a_call_holds_its_operands_and_its_workspace() -> None:
    (axes,) = draw(Memory(), *HELD).axes
    assert points(axes, "flash") == [(64, 64), (128, 128)]
    assert points(axes, "unfused") == [(64, 80)]
    (least,) = lines(axes, "least")
    assert list(least.get_ydata()) == [64, 128]
    assert axes.get_yscale() == "log"


def test_memory_can_be_that_of_the_process() -> None:
    (axes,) = draw(Memory(), *HELD, y="peak").axes
    assert points(axes, "unfused") == [(64, 950)]
    assert lines(axes, "least") == []


def test_errors_grow_towards_the_line_of_the_tolerance() -> None:
    rows = [make_result(seq=seq, error_ratio=seq / 640, max_abs_error=seq / 1e6) for seq in (64, 128)]
    (axes,) = draw(ErrorGrowth(), *rows).axes
    assert points(axes, "flash") == [(64, 0.1), (128, 0.2)]
    assert len(lines(axes, "limit")) == 1
    assert axes.get_ylim()[1] > 1
    (absolute,) = draw(ErrorGrowth(), *rows, y="absolute").axes
    assert points(absolute, "flash") == [(64, 64e-6), (128, 128e-6)]
    assert lines(absolute, "limit") == []


def test_cases_without_any_error_are_said() -> None:
    rows = [make_result(seq=64, error_ratio=0.0), make_result(seq=128, error_ratio=0.5)]
    assert "Without error, so not on the scale: 1 of 2 rows." in caption(draw(ErrorGrowth(), *rows))


def words(axes: Axes) -> list[tuple[float, str]]:
    """Return place and text of each word that stands where a point is missing."""
    return [(float(text.xy[0]), text.get_text()) for text in axes.texts if text.get_gid() == "missing"]  # type: ignore[attr-defined]


def is_broken_at(axes: Axes, label: str, place: float) -> bool:
    """Whether a series' line has a gap at a place."""
    return math.isnan(dict(points(axes, label))[place])


def checked(variant: str, **errors: float) -> list[Result]:
    """Return a row for each length, `seq_64=0.1`, with this error over the tolerance."""
    return [
        make_result(
            variant,
            int(name.removeprefix("seq_")),
            status=Status.PASSED if error <= 1 else Status.WRONG,
            error_ratio=error,
            max_abs_error=error / 1e6,
        )
        for name, error in errors.items()
    ]


@pytest.mark.parametrize("y", ["ratio", "absolute"])
def test_an_infinite_error_breaks_the_line_and_is_told(y: str) -> None:
    rows = checked("flash", seq_64=0.1, seq_128=math.inf, seq_256=0.2)
    drawing = draw(ErrorGrowth(), *rows, y=y)
    (axes,) = drawing.axes
    assert is_broken_at(axes, "flash", 128)
    assert words(axes) == [(128, "wrong")]
    assert "so not on the scale: 1 of 3 rows." in caption(drawing)


def test_a_series_whose_errors_are_all_infinite_stays_in_the_legend() -> None:
    rows = [*checked("flash", seq_64=0.1, seq_128=0.2), *checked("naive", seq_64=math.inf, seq_128=math.inf)]
    drawing = draw(ErrorGrowth(), *rows)
    (legend,) = drawing.legends
    assert [text.get_text() for text in legend.get_texts()] == ["flash", "naive"]
    assert words(drawing.axes[0]) == [(64, "wrong"), (128, "wrong")]


@pytest.mark.parametrize(
    ("status", "word"),
    [(Status.CRASHED, "crashed"), (Status.TIMED_OUT, "timeout"), (Status.PASSED, "not known")],
)
@pytest.mark.parametrize("settings", [{"y": "peak"}, {"y": "held"}, None])
def test_a_row_without_a_value_breaks_the_line_and_says_why(
    status: Status, word: str, settings: dict[str, str] | None
) -> None:
    known = {"error_ratio": 0.5, "bytes": MIB, "workspace_bytes": 0, "peak_bytes": 900 * MIB}
    rows = [make_result(seq=seq, **known) for seq in (64, 256)] + [make_result(seq=128, status=status)]
    figure = ErrorGrowth() if settings is None else Memory()
    (axes,) = draw(figure, *rows, **(settings or {})).axes
    assert is_broken_at(axes, "flash", 128)
    assert words(axes) == [(128, word)]


def test_words_for_missing_points_stand_below_all_points() -> None:
    rows = checked("flash", seq_64=0.1, seq_128=math.inf, seq_256=1e30)
    drawing = draw(ErrorGrowth(), *rows)
    drawing.draw_without_rendering()
    (axes,) = drawing.axes
    (word,) = [text for text in axes.texts if text.get_gid() == "missing"]
    (_, lowest) = axes.transData.transform((64, 0.1))
    assert axes.get_window_extent().y0 < word.get_window_extent().y0
    assert word.get_window_extent().y1 < lowest
    edge = axes.transData.inverted().transform((0, word.get_window_extent().y1))[1]
    assert all(tick > edge for tick in axes.get_yticks())


@pytest.mark.parametrize("figure", [Memory(), ErrorGrowth()])
def test_a_series_without_any_value_is_named_below_instead(figure: Figure) -> None:
    row = make_result(error_ratio=0.5, bytes=MIB, workspace_bytes=0)
    drawing = draw(figure, row, make_result("naive", status=Status.UNSUPPORTED))
    (legend,) = drawing.legends
    assert [text.get_text() for text in legend.get_texts()] == ["flash"]
    assert words(drawing.axes[0]) == []
    assert "Without any value, so not shown: naive (unsupported)." in caption(drawing)


def timed(variant: str, factor: float | None, time_s: float, seq: int = 64) -> Result:
    flops = 1_000_000
    executed = None if factor is None else round(flops * factor)
    return make_result(
        variant, seq, flops=flops, recompute_factor=factor, flops_executed=executed, time_s=time_s
    )


@pytest.mark.filterwarnings("error")
def test_time_stands_over_executed_operations_with_the_line_of_the_best_rate() -> None:
    drawing = draw(
        Recompute(), timed("flash", 1.0, 1e-5), timed("naive", 4.0, 8e-5), timed("torch", None, 1e-5)
    )
    (axes,) = drawing.axes
    assert points(axes, "flash")[0] == pytest.approx((1.0, 10.0))
    assert points(axes, "naive")[0] == pytest.approx((4.0, 80.0))
    (rate,) = lines(axes, "rate")
    factors, times = rate.get_xdata(), rate.get_ydata()
    assert times[0] / factors[0] == pytest.approx(10)
    assert times[1] / factors[1] == pytest.approx(10)
    assert axes.get_title() == "dotted: 100 GFLOP/s executed"
    assert "Not shown, or not counted: torch." in caption(drawing)
    renamed = draw(
        Recompute(), timed("flash", 1.0, 1e-5), timed("torch", None, 1e-5), names={"torch": "PyTorch"}
    )
    assert "Not shown, or not counted: PyTorch." in caption(renamed)


def test_a_line_over_executed_operations_is_broken_where_a_case_has_no_time() -> None:
    rows = [timed("flash", 1.0, 1e-5, seq=64), timed("flash", 1.2, 2e-5, seq=256)]
    crashed = make_result("flash", 128, status=Status.CRASHED, recompute_factor=1.1)
    of_another_line = make_result("flash", 128, mask="causal", status=Status.CRASHED)
    drawing = draw(Recompute(), *rows, crashed, of_another_line, timed("naive", 2.0, 3e-5))
    (axes,) = drawing.axes
    assert [math.isnan(time) for _, time in points(axes, "flash")] == [False, True, False]
    assert [math.isnan(time) for _, time in points(axes, "naive")] == [False]
    assert "Broken where a case has no time or no count: flash (crashed)." in caption(drawing)
    assert "Broken" not in caption(draw(Recompute(), *rows))


@pytest.mark.parametrize("figure", [Memory(), ErrorGrowth(), Recompute()])
def test_a_column_of_a_paper_stacks_the_panels(figure: Figure) -> None:
    rows = [
        make_result(
            head_dim=head_dim,
            bytes=1,
            workspace_bytes=1,
            error_ratio=0.5,
            recompute_factor=1.0,
            flops_executed=10,
            time_s=1e-5,
        )
        for head_dim in (64, 128)
    ]
    page, column = draw(figure, *rows), draw(figure, *rows, width="column", font="serif")
    grids = [drawing.axes[0].get_gridspec() for drawing in (page, column)]
    assert [(grid.nrows, grid.ncols) for grid in grids if grid] == [(1, 2), (2, 1)]
    assert column.get_figwidth() == 3.4
    assert column.axes[0].get_xticklabels()[0].get_fontfamily() == ["STIXGeneral", "DejaVu Sans"]


@pytest.mark.parametrize(
    ("figure", "reason"),
    [
        (Memory(), "no case has bytes and workspace_bytes"),
        (ErrorGrowth(), "no case was checked with a finite error above 0"),
        (Recompute(), "no case was timed"),
    ],
)
def test_without_such_values_there_is_nothing_to_draw(figure: Figure, reason: str) -> None:
    with pytest.raises(NothingToDraw, match=reason):
        draw(figure, make_result())

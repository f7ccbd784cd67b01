"""A figure and the table of its numbers, `<figure>.dat`, say the same."""

import math
import re
from pathlib import Path
from typing import Any

import pytest
from drawings import draw, error_bars, frame_of, heights, points, widths
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from synthetic_results import WriteRun, make_result

from harness.experiment.figure_settings import parse_settings
from harness.reporting.explaining import read_origin
from harness.reporting.figures.base import Figure
from harness.reporting.figures.bounds import Bounds
from harness.reporting.figures.operations import Operations
from harness.reporting.figures.recompute import Recompute
from harness.reporting.figures.speedup import Speedup
from harness.reporting.figures.throughput import Throughput
from harness.reporting.latex import plot_data
from harness.reporting.report import redraw
from harness.reporting.runs import read_runs
from harness.results.result import Result
from harness.system.status import Status

CELL = re.compile(r"\{[^}]*\}|\S+")
"""A text in braces, or a number."""


def read_table(lines: list[str]) -> list[dict[str, str]]:
    """Return a table's lines by column; its first line says where it comes from."""
    _, header, *rows = lines
    return [dict(zip(header.split(), CELL.findall(row), strict=True)) for row in rows]


def drawn_and_table(
    figure: Figure, *results: Result, **settings: Any
) -> tuple[Drawing, list[dict[str, str]]]:
    numbers = figure.numbers(frame_of(*results), parse_settings(figure, settings))
    table = read_table(list(plot_data(numbers, figure.data_columns, "")))
    return draw(figure, *results, **settings), table


def column(table: list[dict[str, str]], name: str, factor: float = 1.0) -> list[float]:
    return [float(row[name]) * factor for row in table]


def compared(run: str = "run-1") -> list[Result]:
    """Return rows of a run whose baseline is `unfused`."""
    times = {"unfused": (4.0, 1.0), "flash": (1.0, 4.1), "torch": (2.0, 2.2)}
    return [
        make_result(
            variant,
            run=run,
            time_s=time,
            speedup=speedup,
            speedup_low=speedup * 0.9,
            speedup_high=speedup * 1.2,
            baseline="unfused",
        )
        for variant, (time, speedup) in times.items()
    ]


def drawn_again(folders: list[Path], out: Path, *assignments: str) -> tuple[Axes, list[dict[str, str]]]:
    """Draw speed-ups of runs into a folder; return the axes of the drawing and the table beside it."""
    drawn = redraw(folders, ["speedup"], assignments, out, ("svg",))
    assert not drawn.skipped
    settings = dict(text.split("=") for text in assignments)
    (axes,) = Speedup().draw(read_runs(folders).frame, parse_settings(Speedup(), settings), "").axes
    return axes, read_table((out / "speedup.dat").read_text().splitlines())


def test_speedups_over_a_chosen_baseline_are_those_of_the_table(write_run: WriteRun, tmp_path: Path) -> None:
    axes, table = drawn_again([write_run(compared())], tmp_path, "baseline=flash")
    assert column(table, "speedup") == heights(axes) == [0.25, 0.5]
    assert [row["series"] for row in table] == ["{unfused}", "{torch}"]
    assert {row["baseline_label"] for row in table} == {"{flash}"}
    assert {row["speedup_minus"] for row in table} == {"nan"}
    assert read_origin(tmp_path / "speedup.dat").row_count == 2


def test_paired_speedups_have_their_intervals_in_the_table(write_run: WriteRun, tmp_path: Path) -> None:
    axes, table = drawn_again([write_run(compared())], tmp_path)
    assert column(table, "speedup") == heights(axes) == [4.1, 2.2]
    plus, minus = column(table, "speedup_plus"), column(table, "speedup_minus")
    middle = column(table, "speedup")
    bars = [[value - down, value + up] for value, down, up in zip(middle, minus, plus, strict=True)]
    assert [pytest.approx(bar) for bar in bars] == error_bars(axes)
    assert {row["baseline_label"] for row in table} == {"{unfused}"}


def timed(variant: str = "flash", seq: int = 256, time: float = 0.5, **fields: Any) -> Result:
    return make_result(
        variant, seq, time_s=time, time_low_s=time * 0.8, time_high_s=time * 1.25, flops=10**12, **fields
    )


@pytest.mark.parametrize(("y", "name", "factor"), [("gflops", "tflops", 1e3), ("time", "time_s", 1.0)])
def test_throughput_and_its_intervals(y: str, name: str, factor: float) -> None:
    rows = [timed(), timed(seq=512, time=1.0), make_result("naive", status=Status.CRASHED)]
    drawing, table = drawn_and_table(Throughput(), *rows, y=y)
    (axes,) = drawing.axes
    assert [row["series"] for row in table] == ["{flash}", "{flash}"]
    assert column(table, name, factor) == pytest.approx([y for _, y in points(axes, "flash")])
    low = [float(row[name]) - float(row[f"{name}_minus"]) for row in table]
    high = [float(row[name]) + float(row[f"{name}_plus"]) for row in table]
    for bar, end in zip(zip(low, high, strict=True), error_bars(axes), strict=True):
        assert [value * factor for value in bar] == pytest.approx(end)


@pytest.mark.parametrize("figure", [Throughput(), Operations()])
def test_places_along_skew_are_in_the_table(figure: Figure) -> None:
    starts = {"cu_seqlens_q": "0,10,40", "cu_seqlens_kv": "0,10,40"}
    packed = timed(case="packed", mask="lengths", recompute_factor=2.0, **starts)
    _, table = drawn_and_table(figure, packed, timed(recompute_factor=1.0), x="skew")
    assert column(table, "skew") == [3.0]


def test_the_time_of_an_ideal_operation() -> None:
    drawing, table = drawn_and_table(
        Recompute(), timed(recompute_factor=1.0), timed(seq=512, recompute_factor=2.0, time=0.8)
    )
    (axes,) = drawing.axes
    assert (
        column(table, "time_per_flop_s", 1e12)
        == pytest.approx([y for _, y in points(axes, "flash")])
        == [0.5, 0.8]
    )
    assert column(table, "time_per_flop_s_minus", 1e12) == pytest.approx([0.1, 0.16])


def test_an_infinite_error_is_in_the_table_and_in_what_a_figure_comes_from(
    write_run: WriteRun, tmp_path: Path
) -> None:
    errors = ((64, 0.5, Status.PASSED), (128, math.inf, Status.WRONG), (256, None, Status.CRASHED))
    rows = [make_result(seq=seq, error_ratio=error, status=status) for seq, error, status in errors]
    drawn = redraw([write_run(rows)], ["error_growth"], (), tmp_path, ("svg",))
    assert not drawn.skipped
    table = read_table((tmp_path / "error_growth.dat").read_text().splitlines())
    assert [row["error_ratio"] for row in table] == ["0.5", "inf", "nan"]
    assert [row["status"] for row in table] == ["{passed}", "{wrong}", "{crashed}"]
    assert [row.status for row in read_origin(tmp_path / "error_growth.svg").rows] == [
        "passed",
        "wrong",
        "crashed",
    ]


def test_modelled_cycles_are_of_a_thousand_scores() -> None:
    model = {"fraction_of_peak": 0.5, "bound": "tensor", "cycles": 8.0, "scores": 4000, "tensor_cycles": 6.0}
    rows = [make_result(seq=seq, status=Status.BUILT, model=model) for seq in (64, 128)]
    drawing, table = drawn_and_table(Bounds(), *rows)
    assert column(table, "busy_cycles.tensor") == widths(drawing.axes[0], "tensor") == [1.5]
    assert column(table, "simulated_cycles") == [2.0]

"""A figure and the table of its numbers, `<figure>.dat`, say the same."""

import math
import re
from pathlib import Path
from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from synthetic_results import WriteRun, make_result

from harness.experiment.figure_settings import parse_settings
from harness.reporting.explaining import read_origin
from harness.reporting.figures.base import Figure
from harness.reporting.figures.bounds import Bounds
from harness.reporting.figures.build_time import BuildTime
from harness.reporting.figures.error_growth import ErrorGrowth
from harness.reporting.figures.instruction_mix import InstructionMix
from harness.reporting.figures.memory import Memory
from harness.reporting.figures.operations import Operations
from harness.reporting.figures.recompute import Recompute
from harness.reporting.figures.resources import Resources
from harness.reporting.figures.speedup import Speedup
from harness.reporting.figures.throughput import Throughput
from harness.reporting.frames import prepare
from harness.reporting.latex import plot_data
from harness.reporting.report import redraw
from harness.reporting.runs import read_runs
from harness.results.frame import results_frame
from harness.results.result import Result
from harness.status import Status

CELL = re.compile(r"\{[^}]*\}|\S+")
"""A text in braces, or a number."""


def read_table(lines: list[str]) -> list[dict[str, str]]:
    """Return a table's lines by column; its first line says where it comes from."""
    _, header, *rows = lines
    return [dict(zip(header.split(), CELL.findall(row), strict=True)) for row in rows]


def drawn_and_table(
    figure: Figure, *results: Result, **settings: Any
) -> tuple[Drawing, list[dict[str, str]]]:
    frame = prepare(results_frame(results), ("flash", "naive"))
    parsed = parse_settings(figure, settings)
    lines = plot_data(figure.numbers(frame, parsed), figure.data_columns, "")
    return figure.draw(frame, parsed, ""), read_table(list(lines))


def column(table: list[dict[str, str]], name: str, factor: float = 1.0) -> list[float]:
    return [float(row[name]) * factor for row in table]


def heights(axes: Axes) -> list[float]:
    return [float(patch.get_height()) for patch in axes.patches]  # type: ignore[attr-defined]


def widths(axes: Axes, part: str) -> list[float]:
    return [float(bar.get_width()) for bar in axes.patches if bar.get_gid() == part]  # type: ignore[attr-defined]


def values(axes: Axes, label: str) -> list[float]:
    """Return the heights of the points of a series' line."""
    found = [line for line in axes.lines if line.get_label() == label]
    found += [bars.lines[0] for bars in axes.containers if bars.get_label() == label]  # type: ignore[attr-defined]
    (line,) = found
    return [float(value) for value in line.get_ydata()]  # type: ignore[arg-type]


def ends(axes: Axes) -> list[list[float]]:
    """Return the ends of the error bars, from left to right."""
    found = [bars.lines[2][0].get_segments() for bars in axes.containers if hasattr(bars, "has_yerr")]
    return [sorted(map(float, segment[:, 1])) for segments in found for segment in segments]


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
    assert {row["baseline"] for row in table} == {"{flash}"}
    assert {row["speedup_minus"] for row in table} == {"nan"}
    assert read_origin(tmp_path / "speedup.dat").row_count == 3


def test_paired_speedups_have_their_intervals_in_the_table(write_run: WriteRun, tmp_path: Path) -> None:
    axes, table = drawn_again([write_run(compared())], tmp_path)
    assert column(table, "speedup") == heights(axes) == [4.1, 2.2]
    plus, minus = column(table, "speedup_plus"), column(table, "speedup_minus")
    middle = column(table, "speedup")
    bars = [[value - down, value + up] for value, down, up in zip(middle, minus, plus, strict=True)]
    assert [pytest.approx(bar) for bar in bars] == ends(axes)
    assert {row["baseline"] for row in table} == {"{unfused}"}


def test_speedups_of_merged_runs_are_those_of_the_table(write_run: WriteRun, tmp_path: Path) -> None:
    folders = [write_run(compared(), name=name) for name in ("old", "new")]
    axes, table = drawn_again(folders, tmp_path, "baseline=flash")
    assert sorted(column(table, "speedup")) == sorted(heights(axes)) == [0.25, 0.25, 0.5, 0.5]
    assert {(row["series"], row["baseline"]) for row in table} == {
        (f"{{{variant} ({run})}}", f"{{flash ({run})}}")
        for variant in ("torch", "unfused")
        for run in ("old", "new")
    }


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
    assert column(table, name, factor) == pytest.approx(values(axes, "flash"))
    low = [float(row[name]) - float(row[f"{name}_minus"]) for row in table]
    high = [float(row[name]) + float(row[f"{name}_plus"]) for row in table]
    for bar, end in zip(zip(low, high, strict=True), ends(axes), strict=True):
        assert [value * factor for value in bar] == pytest.approx(end)


@pytest.mark.parametrize("figure", [Throughput(), Operations()])
def test_places_along_skew_are_in_the_table(figure: Figure) -> None:
    starts = {"cu_seqlens_q": "0,10,40", "cu_seqlens_kv": "0,10,40"}
    packed = timed(case="packed", mask="lengths", recompute_factor=2.0, **starts)
    _, table = drawn_and_table(figure, packed, timed(recompute_factor=1.0), x="skew")
    assert column(table, "skew") == [3.0]


def test_skew_is_that_of_queries_or_of_keys_whichever_are_more_uneven() -> None:
    rows = [
        timed(case=keys, mask="lengths", cu_seqlens_q="0,1,2,3", cu_seqlens_kv=keys)
        for keys in ("0,200,400,600", "0,17,34,578")
    ]
    rows.append(timed(case="q", mask="lengths", cu_seqlens_q="0,4,5,9", cu_seqlens_kv="0,64,128,192"))
    _, table = drawn_and_table(Throughput(), *rows, x="skew")
    assert sorted(column(table, "skew")) == [1.0, 4.0, 32.0]


def test_the_time_of_an_ideal_operation() -> None:
    drawing, table = drawn_and_table(
        Recompute(), timed(recompute_factor=1.0), timed(seq=512, recompute_factor=2.0, time=0.8)
    )
    (axes,) = drawing.axes
    assert column(table, "time_per_flop_s", 1e12) == pytest.approx(values(axes, "flash")) == [0.5, 0.8]
    assert column(table, "time_per_flop_s_minus", 1e12) == pytest.approx([0.1, 0.16])


@pytest.mark.parametrize("y", ["held", "peak"])
def test_memory(y: str) -> None:
    row = make_result(bytes=64 * 2**20, workspace_bytes=16 * 2**20, peak_bytes=950 * 2**20)
    drawing, table = drawn_and_table(Memory(), row, y=y)
    assert column(table, "memory_bytes", 2**-20) == values(drawing.axes[0], "flash")


def test_errors_without_a_place_on_the_scale_are_not_in_the_table() -> None:
    rows = [make_result(seq=seq, error_ratio=error) for seq, error in ((64, 0.0), (128, 0.5), (256, 0.6))]
    drawing, table = drawn_and_table(ErrorGrowth(), *rows)
    assert column(table, "error_ratio") == values(drawing.axes[0], "flash") == [0.5, 0.6]
    assert "Without error, so not on the scale: 1 of 3 rows." in " ".join(
        text.get_text().replace("\n", " ") for text in drawing.texts
    )


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


def test_build_times_are_means_of_a_row() -> None:
    rows = [
        make_result(seq=seq, build_s=build, stage_s={"plan": build / 4, "compile": build / 2})
        for seq, build in ((64, 1.0), (128, 3.0))
    ]
    drawing, table = drawn_and_table(BuildTime(), *rows)
    (axes,) = drawing.axes
    for stage in ("plan", "compile", "others"):
        assert column(table, f"stage_s.{stage}") == widths(axes, stage)
    assert column(table, "build_s") == [2.0]
    assert table[0]["seq_q"] == "nan"


def test_a_stage_that_a_series_lacks_took_no_time_at_all() -> None:
    rows = [
        make_result(variant, build_s=1.0, stage_s={stage: 0.25})
        for variant, stage in (("flash", "plan"), ("iree", "compile"))
    ]
    table = drawn_and_table(BuildTime(), *rows)[1]
    assert [row["stage_s.plan"] for row in table] == ["0.25", "nan"]
    assert [row["stage_s.compile"] for row in table] == ["nan", "0.25"]


def test_resources_are_the_largest_of_a_row_beside_the_least() -> None:
    rows = [make_result(seq=seq, registers=count) for seq, count in ((64, 128), (128, 182))]
    drawing, table = drawn_and_table(Resources(), *rows)
    assert column(table, "registers") == widths(drawing.axes[0], "bar") == [182]
    assert column(table, "registers_least") == [128]


def test_instructions_are_those_of_the_longest_problem() -> None:
    rows = [make_result(seq=seq, instructions={"fma": count}) for seq, count in ((64, 10), (128, 20))]
    drawing, table = drawn_and_table(InstructionMix(), *rows)
    assert column(table, "instructions.fma") == widths(drawing.axes[0], "fma") == [20]


def test_modelled_cycles_are_of_a_thousand_scores() -> None:
    model = {"fraction_of_peak": 0.5, "bound": "tensor", "cycles": 8.0, "scores": 4000, "tensor_cycles": 6.0}
    rows = [make_result(seq=seq, status=Status.BUILT, model=model) for seq in (64, 128)]
    drawing, table = drawn_and_table(Bounds(), *rows)
    assert column(table, "busy_cycles.tensor") == widths(drawing.axes[0], "tensor") == [1.5]
    assert column(table, "simulated_cycles") == [2.0]


PACKED_CASE = {
    "case": "packed",
    "mask": "lengths",
    "batch": 8,
    "cu_seqlens_q": "0,10,40",
    "cu_seqlens_kv": "0,10,40",
}


@pytest.mark.parametrize(
    ("figure", "x", "placed", "other"),
    [
        (Throughput(), "skew", PACKED_CASE, {"batch": 3}),
        (Speedup(), "skew", PACKED_CASE, {"batch": 3}),
        (Operations(), "skew", PACKED_CASE, {"batch": 3}),
        (Throughput(), "threads", {"threads": 2}, {"threads": None}),
        (Speedup(), "threads", {"threads": 2}, {"threads": None}),
        (Memory(), "threads", {"threads": 2}, {"threads": None}),
        (ErrorGrowth(), "threads", {"threads": 2}, {"threads": None}),
    ],
    ids=lambda value: value.name if isinstance(value, Figure) else None,
)
def test_rows_without_a_place_are_in_no_caption_and_no_table(
    figure: Figure, x: str, placed: dict[str, Any], other: dict[str, Any]
) -> None:
    known = {"recompute_factor": 2.0, "bytes": 64, "workspace_bytes": 16, "error_ratio": 0.5}
    results = []
    for number, fields in enumerate((placed, other)):
        common = {**known, "baseline": "naive", "baseline_case": f"naive {number}", **fields}
        for variant, speedup in (("naive", 1.0), ("flash", 2.0)):
            named = {**common, "case": f"{variant} {number}", "speedup": speedup}
            results.append(timed(variant=variant, device=f"device {number}", **named))
    frame = prepare(results_frame(results), ("flash", "naive"))
    settings = parse_settings(figure, {"x": x})
    rows = figure.rows(frame, settings)
    assert set(rows["device"]) == set(figure.numbers(frame, settings)["device"]) == {"device 0"}
    assert set(rows["variant"]) == {"flash", "naive"}


def test_series_without_any_time_are_in_no_caption_of_times() -> None:
    frame = prepare(results_frame([timed(), make_result("naive", status=Status.CRASHED)]), ("flash", "naive"))
    assert set(Throughput().rows(frame, parse_settings(Throughput(), {}))["variant"]) == {"flash"}

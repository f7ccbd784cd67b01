import io

import pandas as pd
import pytest
from rich.console import Console
from synthetic_results import make_result

from harness.reporting.frames import prepare
from harness.reporting.tables import markdown_table, rich_table, summarize
from harness.results.frame import results_frame
from harness.system.status import Status


@pytest.fixture
def frame() -> pd.DataFrame:
    """Two problems; one variant fails on the second."""
    timed = {"baseline": "unfused", "noise": 0.0123, "busy": False, "error_ratio": 0.314}
    return prepare(
        results_frame(
            [
                make_result(
                    "flash",
                    256,
                    time_s=0.00136957,
                    time_low_s=0.00134903,
                    time_high_s=0.00139696,
                    fraction_of_peak=0.784,
                    speedup=2.0631,
                    speedup_low=2.02,
                    speedup_high=2.129,
                    recompute_factor=1.0,
                    **timed,
                ),
                make_result("unfused", 256, time_s=0.00282563, speedup=1.0, **timed | {"busy": True}),
                make_result("flash", 512, time_s=0.00534, **timed),
                make_result("unfused", 512, status=Status.OUT_OF_MEMORY, phase="run", reason="killed"),
            ]
        ),
        ("flash", "unfused"),
    )


EXPECTED_MARKDOWN = """\
| seq | variant | status | error / tolerance | time (ms) | time [95 %] | GFLOP/s | % of peak \
| speed-up vs unfused | speed-up [95 %] | recompute | noise (%) | busy |
| ---: | :--- | :--- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | :--- |
| 256 | flash | passed | 0.31 | 1.37 | [1.35, 1.40] | 196 | 78.4 | 2.06 | [2.02, 2.13] | 1.00 | 1.2 | no |
| 256 | unfused | passed | 0.31 | 2.83 | – | 95.0 | – | 1.00 | – | – | 1.2 | busy |
| 512 | flash | passed | 0.31 | 5.34 | – | 201 | – | – | – | – | 1.2 | no |
| 512 | unfused | out-of-memory | – | – | – | – | – | – | – | – | – | – |
"""


def test_markdown_holds_units_rounded_numbers_and_dashes(frame: pd.DataFrame) -> None:
    assert markdown_table(summarize(frame)) == EXPECTED_MARKDOWN


def test_the_title_holds_what_all_rows_share(frame: pd.DataFrame) -> None:
    assert (
        summarize(frame).title
        == "seq_sweep · cpu · threads 1 · f32 · head_dim 64 · full · heads 16 · batch 1"
    )


def test_a_column_that_nothing_was_measured_in_is_left_out() -> None:
    frame = prepare(results_frame([make_result(error_ratio=0.5)]))
    assert summarize(frame).headers == ("variant", "status", "error / tolerance")


def rendered(frame: pd.DataFrame, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(rich_table(summarize(frame)), soft_wrap=True)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_narrow_terminal_cuts_no_numbers(frame: pd.DataFrame) -> None:
    text = rendered(frame, 40)
    assert "…" not in text
    assert "time [95 %]" not in text
    for cell in ("1.37", "2.06", "out-of-memory"):
        assert cell in text


def test_a_problem_is_named_once(frame: pd.DataFrame) -> None:
    lines = [line for line in rendered(frame, 200).splitlines() if " passed " in line or "out-of" in line]
    assert [line.split()[0] for line in lines] == ["256", "unfused", "512", "unfused"]


def test_a_bar_in_a_cell_does_not_end_it() -> None:
    frame = prepare(results_frame([make_result("a|b")]))
    assert "| a\\|b | passed |" in markdown_table(summarize(frame))


def test_what_is_known_of_gpu_code_stands_in_the_table_of_emulated_and_built_rows() -> None:
    known = {"registers": 128, "spills": 0, "shared_bytes": 49152, "occupancy": 0.5, "bank_conflicts": 12}
    rows = [
        make_result("flash", status=Status.EMULATED, executor="emulator", **known),
        make_result("naive", status=Status.BUILT, executor="none", **known | {"registers": None}),
    ]
    summary = summarize(prepare(results_frame(rows)))
    headers = ("variant", "status", "registers", "spills", "shared (KiB)", "occupancy (%)", "bank conflicts")
    assert summary.headers == headers
    assert summary.rows == (
        ("flash", "emulated", "128", "0", "48.0", "50.0", "12"),
        ("naive", "built", "–", "0", "48.0", "50.0", "12"),
    )


def test_a_scale_of_its_own_is_a_column_beside_the_head_dim() -> None:
    usual = [make_result(head_dim=width) for width in (16, 64)]
    assert "scale" not in summarize(prepare(results_frame(usual))).headers
    own = make_result(head_dim=64, scale=0.5, case="own")
    assert "scale" in summarize(prepare(results_frame([*usual, own]))).headers


def test_scales_that_are_not_the_usual_ones_are_told_even_where_they_follow_from_the_head_dim() -> None:
    rows = [make_result(head_dim=width, scale=1 / width) for width in (16, 64)]
    assert "scale" in summarize(prepare(results_frame(rows))).headers


@pytest.mark.parametrize("widths", [(64,), (16, 64)])
def test_the_title_names_a_scale_that_is_not_the_usual_one(widths: tuple[int, ...]) -> None:
    rows = [make_result(head_dim=width, scale=0.1) for width in widths]
    assert "scale 0.1" in summarize(prepare(results_frame(rows))).title.split(" · ")
    assert "scale" not in summarize(prepare(results_frame(rows[:1]))).headers
    usual = [make_result(head_dim=width) for width in widths]
    assert "scale" not in summarize(prepare(results_frame(usual))).title


@pytest.mark.parametrize(
    ("column", "values", "texts"),
    [
        ("softcap", (0.1234567, 0.1234568), ["0.1234567", "0.1234568"]),
        ("sinks", (False, True), ["no", "yes"]),
    ],
)
def test_cells_of_the_summary_tell_problems_apart(column: str, values: tuple, texts: list[str]) -> None:
    rows = [make_result("flash", case=str(value), **{column: value}) for value in values]
    summary = summarize(prepare(results_frame(rows)))
    assert [row[summary.headers.index(column)] for row in summary.rows] == texts


def test_sizes_of_tiles_that_were_chosen_or_set_are_a_column() -> None:
    rows = [
        make_result("flash", chosen={"tile_q": 32, "tile_kv": 64, "grid_order": "longest-first"}),
        make_result("naive", params={"tile_kv": 16}, chosen={"tile_q": 8}),
        make_result("torch"),
    ]
    summary = summarize(prepare(results_frame(rows), ("flash", "naive", "torch")))
    place = summary.headers.index("tiles")
    assert [row[place] for row in summary.rows] == ["tile_q=32 tile_kv=64", "tile_q=8 tile_kv=16", "–"]


def test_the_title_says_where_no_time_was_measured() -> None:
    emulated, passed = (
        prepare(results_frame([make_result(target="cuda:sm_80", status=status)]))
        for status in (Status.EMULATED, Status.PASSED)
    )
    assert summarize(emulated).title.endswith(" · emulated: no time was measured")
    assert "no time" not in summarize(passed).title

"""What a report shows on the terminal."""

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from synthetic_results import WriteRun, make_result

from harness.reporting import report
from harness.reporting.panel_tables import panel_tables
from harness.reporting.report import make_report, print_tables
from harness.reporting.runs import read_runs
from harness.results.result import Result
from harness.system.status import Status


def test_the_terminal_shows_variants_and_lengths(write_run: WriteRun) -> None:
    rows = [
        make_result("unfused", 256, time_s=0.004, speedup=1.0, baseline="unfused"),
        make_result("unfused", 512, time_s=0.02, speedup=1.0, baseline="unfused", busy=True),
        make_result(
            "flash", 256, time_s=0.002, speedup=2.0, speedup_low=1.9, speedup_high=2.1, baseline="unfused"
        ),
        make_result("flash", 512, status=Status.UNSUPPORTED, reason="tile too large"),
    ]
    rows[0] = rows[0].model_copy(update={"time_low_s": 0.003, "time_high_s": 0.006})
    text = printed(rows, write_run)
    lines = [line.split() for line in text.splitlines()]
    assert ["variant", "256", "512"] in lines
    assert ["unfused", "67.1‡", "53.7†"] in lines
    assert "‡ the interval of its time" in text
    assert ["flash", "134", "(2.00×)", "unsupported"] in lines
    assert "† measured while others used the machine" in text
    assert "≈" not in text
    assert "GFLOP/s (speed-up over unfused)" in text


def compared(variant: str, seq: int, speedup: float, baseline: str, **fields: Any) -> Result:
    """A row whose case, and the baseline's case, are called after variant and length."""
    tile = fields.pop("tile", None)
    return make_result(
        variant,
        seq,
        case=f"{variant}{tile or ''} {seq}",
        params={"tile_q": tile} if tile else {},
        time_s=0.004,
        speedup=speedup,
        speedup_low=0.99 * speedup,
        speedup_high=1.01 * speedup,
        baseline=baseline.rstrip("0123456789"),
        baseline_case=f"{baseline} {seq}",
        **fields,
    )


def test_a_table_names_the_parameters_of_the_baseline(write_run: WriteRun) -> None:
    rows = [
        row
        for seq in (256, 512)
        for row in (
            compared("unfused", seq, 1.0, "unfused4", tile=4),
            compared("unfused", seq, 2.68, "unfused4", tile=64),
            compared("flash", seq, 2.94, "unfused4"),
        )
    ]
    text = printed(rows, write_run)
    lines = [line.split() for line in text.splitlines()]
    assert "GFLOP/s (speed-up over unfused tile_q=4)" in text
    assert ["unfused", "tile_q=4", "67.1", "268"] in lines
    assert ["unfused", "tile_q=64", "67.1", "(2.68×)", "268", "(2.68×)"] in lines
    by_row = printed(rows, write_run, by_row=True)
    assert "vs unfused tile_q=4" in by_row


def test_rows_with_different_baselines_name_them(
    write_run: WriteRun, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "150")
    runs = [
        write_run(
            [
                compared(variant, seq, 1.0 if variant == baseline else speedup, baseline)
                for seq in (256, 512)
                for variant in ("unfused", "flash")
            ],
            "[figures]\nmatrix = {}\n",
            name,
        )
        for name, baseline, speedup in (("c", "unfused", 1.43), ("c2", "flash", 0.741))
    ]
    text = make_report(runs, tmp_path / "merged", ("png",)).summary_markdown.read_text()
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "GFLOP/s (speed-ups over different baselines)" in lines
    assert "unfused (c) 67.1 268" in lines
    assert "unfused (c2) 67.1 (0.741×) 268 (0.741×)" in lines
    assert "flash (c) 67.1 (1.43×) 268 (1.43×)" in lines
    assert "| flash (c) | 67.1 (1.43× [1.42, 1.44]) |" in text


@pytest.mark.parametrize(("low", "high"), [(0.98, 1.05), (1.0, 1.02), (None, None)])
@pytest.mark.parametrize("by_row", [False, True])
def test_a_speedup_that_may_be_none_is_marked_where_its_interval_has_no_room(
    low: float | None, high: float | None, by_row: bool, write_run: WriteRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    timed = {"time_s": 0.002, "time_low_s": 0.001, "time_high_s": 0.003, "baseline": "unfused"}
    rows = [
        make_result("unfused", seq, speedup=1.0, speedup_low=1.0, speedup_high=1.0, **timed)
        for seq in (256, 512)
    ]
    rows += [
        make_result("flash", 256, speedup=1.02, speedup_low=low, speedup_high=high, **timed),
        make_result("flash", 512, speedup=1.2, speedup_low=1.1, speedup_high=1.3, **timed),
    ]
    text = printed(rows, write_run, width=60, by_row=by_row)
    assert "≈1.02" in text
    assert "≈ no clear difference: the 95 % interval of the speed-up includes 1" in text
    assert "≈1.0" not in text.replace("≈1.02", "")
    assert "≈1.2" not in text


def test_the_terminal_shows_so_many_rows_and_says_where_the_others_are(
    write_run: WriteRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "MOST_ROWS_PRINTED", 3)
    text = printed([make_result("flash", seq) for seq in (1, 2, 3, 4, 5)], write_run)
    assert "and 2 more rows, all of them in results.csv" in text
    assert text.count("passed") == 3


def test_a_log_has_a_line_for_each_case_where_the_table_is_wider_than_it(write_run: WriteRun) -> None:
    rows = [
        make_result("flash", 256, time_s=0.002),
        make_result("flash", 512, head_dim=128, time_s=0.003),
        make_result("flash", 1024, status=Status.CRASHED, kv_lengths="5,40"),
    ]
    lines = printed(rows, write_run, width=60, by_row=True).splitlines()
    first = next(number for number, line in enumerate(lines) if "b1 h16 s256" in line)
    assert all(f"s{seq} " in line for seq, line in zip((256, 1024, 512), lines[first:], strict=False))
    assert lines[first].startswith("passed         flash · cpu · ")
    assert "time (ms) 2.00" in lines[first]
    assert "──" not in "".join(lines), "no table"
    wide = printed(rows, write_run, width=150, by_row=True).splitlines()
    assert any("──" in line for line in wide)
    assert max(map(len, wide)) <= 150


def printed(results: list[Result], write_run: WriteRun, width: int = 150, *, by_row: bool = False) -> str:
    stream, runs = io.StringIO(), read_runs([write_run(results)])
    print_tables(runs, panel_tables(runs.frame), Console(file=stream, width=width), by_row=by_row)
    return stream.getvalue()

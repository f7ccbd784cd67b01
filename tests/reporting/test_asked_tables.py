"""Tables that somebody asks for on the command line: rows by columns, values, refusals, files."""

import csv
from pathlib import Path
from typing import Any

import pytest
from synthetic_results import WriteRun, make_result

from harness.__main__ import main
from harness.reporting.report import tabulate
from harness.results.result import Result
from harness.system.status import Status

FAST = {"baseline": "unfused", "speedup": 2.0, "speedup_low": 0.9, "speedup_high": 2.2}


def rows(**fields: Any) -> list[Result]:
    """Two variants at three lengths; one row failed."""
    timed = [
        make_result(name, seq, time_s=seq * 1e-6, **(FAST if name == "flash" else {}), **fields)
        for name in ("unfused", "flash")
        for seq in (64, 256, 1024)
    ]
    return [*timed[:-1], make_result("flash", 1024, status=Status.CRASHED, reason="signal 11", **fields)]


def written(folder: Path, ending: str) -> str:
    (file,) = folder.glob(f"*.{ending}")
    return file.read_text()


def ask(write_run: WriteRun, results: list[Result], *words: str) -> tuple[int, Path]:
    folder = write_run(results)
    return main(["report", str(folder), "--table", *words]), folder / "report"


def test_a_table_is_printed_and_written_and_nothing_else(
    write_run: WriteRun, capsys: pytest.CaptureFixture[str]
) -> None:
    status, folder = ask(write_run, rows(), "variant by seq", "--values", "time_us,speedup")
    assert status == 0
    assert {file.name for file in folder.iterdir()} == {
        f"variant_by_seq_time_us_speedup.{ending}" for ending in ("md", "tex", "csv")
    }
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["variant", "64", "256", "1024"] in lines
    assert ["unfused", "64.0", "256", "1020"] in lines
    assert ["flash", "≈2.00", "≈2.00", "crashed"] in lines
    assert "| unfused | 64.0 | 256 | 1020 |" in written(folder, "md")


def test_series_are_called_as_the_experiment_names_them(write_run: WriteRun) -> None:
    source = '[figures]\nthroughput = { names = { flash = "Ours" } }\n'
    folder = write_run(rows(), source)
    table = tabulate([folder], "variant by seq", where="seq == 64")[0].read_text()
    assert "Ours" in table
    assert "flash" not in table
    asked = {"where": "seq == 64", "assignments": ["names.flash=Mine"]}
    assert "Mine" in tabulate([folder], "variant by seq", **asked)[0].read_text()


def test_names_of_a_table_are_of_an_edited_experiment_or_set(
    write_run: WriteRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edited = tmp_path / "edited.toml"
    problem = "[problem]\nseq = 64\nheads = 1\nhead_dim = 64\n"
    names = '[figures.throughput]\nnames = { flash = "Edited" }\n'
    edited.write_text(f'name = "e"\nquestion = "q"\nvariants = ["flash"]\n{problem}{names}')
    _, folder = ask(write_run, rows(), "variant by seq", "--experiment", str(edited))
    assert "Edited" in written(folder, "tex")
    _, folder = ask(write_run, rows(), "variant by seq", "--set", "names.flash=Set")
    assert "Set" in written(folder, "csv")
    for wrong in ("style=bars", "names.flsh=Ours"):
        assert ask(write_run, rows(), "variant by seq", "--set", wrong)[0] == 2
        assert wrong.partition("=")[0].rpartition(".")[2] in capsys.readouterr().err


def test_numbers_are_unrounded_in_the_unit_that_was_asked_for(write_run: WriteRun) -> None:
    _, folder = ask(write_run, rows(), "variant by seq", "--values", "time_ms,gflops,error")
    first, second = csv.DictReader(written(folder, "csv").splitlines())
    assert [first["variant"], second["variant"]] == ["unfused", "flash"]
    assert float(first["time_ms 1024"]) == pytest.approx(1.024)
    assert float(first["gflops 64"]) == pytest.approx(4 * 16 * 64 * 64 * 64 / 64e-6 / 1e9)
    assert second["time_ms 1024"] == second["error 64"] == ""


def test_without_columns_values_stand_across(write_run: WriteRun) -> None:
    _, folder = ask(write_run, rows(), "variant×seq", "--values", "time_us,elapsed_s")
    lines = written(folder, "md").splitlines()
    assert "| variant | seq | time (µs) | elapsed (s) |" in lines
    assert "| unfused | 256 | 256 | – |" in lines
    latex = written(folder, "tex")
    assert r"time (\textmu{}s) & elapsed (s) \\" in latex
    assert "('" not in latex


def test_a_condition_narrows_rows_down(write_run: WriteRun, capsys: pytest.CaptureFixture[str]) -> None:
    results = [row for mask in ("full", "causal") for row in rows(mask=mask)]
    assert ask(write_run, results, "variant by seq")[0] == 2
    capsys.readouterr()
    assert ask(write_run, results, "variant by seq", "--where", "causal and seq > 64")[0] == 0
    assert ["variant", "256", "1024"] in [line.split() for line in capsys.readouterr().out.splitlines()]


def test_rows_of_one_cell_are_told_apart_by_what_they_differ_in(
    write_run: WriteRun, capsys: pytest.CaptureFixture[str]
) -> None:
    results = [row for tile in (32, 64) for row in rows(params={"tile_q": tile}, head_dim=tile)]
    assert ask(write_run, results, "variant by seq")[0] == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "found 2 rows for one cell (variant unfused, seq 64)" in line
    assert "differ in head_dim:" in line
    assert ask(write_run, results, "head_dim,variant by seq")[0] == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["varant by seq"], "--table: unknown column 'varant' (did you mean variant?)"),
        (["variant by seq by mask"], "--table: found 'variant by seq by mask', expected ROWS by COLUMNS"),
        (["variant,"], "--table: found 'variant,', expected ROWS by COLUMNS"),
        (["variant by"], "--table: found 'variant by', expected ROWS by COLUMNS"),
        (["variant,seq by seq"], "--table: found a column twice"),
        (["variant by seq", "--values", "gflop"], "--values: unknown value 'gflop' (did you mean gflops?)"),
        (["variant by seq", "--values", "status"], "--values: status is a column of words"),
        (["variant by seq", "--where", "seq == 5"], "--where: found no row"),
        (["variant by seq", "--where", "sq == 5"], "--where: unknown name 'sq'"),
        (["variant by seq", "--open"], "--open: found --table"),
    ],
)
def test_what_no_table_can_be_is_one_line(
    write_run: WriteRun, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    status, folder = ask(write_run, rows(), *words)
    assert status == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert not folder.exists()


@pytest.mark.parametrize("option", ["--values", "--where"])
def test_options_of_a_table_need_one(capsys: pytest.CaptureFixture[str], option: str) -> None:
    assert main(["report", "x", option, "seq"]) == 2
    assert f"{option}: found no --table" in capsys.readouterr().err

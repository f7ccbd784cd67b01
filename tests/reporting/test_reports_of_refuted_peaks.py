"""A report of a peak that a row refutes: no file has a fraction of it, and each says why."""

import csv
import io

import pytest
from rich.console import Console
from synthetic_results import WriteRun, make_result

from harness.reporting import print_tables, write_report
from harness.results.result import Result

NOTE = (
    "Faster than the measured peak of 200 GFLOP/s, which is therefore too low and is not compared with: "
    "1 row."
)


@pytest.fixture
def rows() -> list[Result]:
    """One is faster than the peak, two with another mask or dtype are not, and one has another peak."""
    peak = {"time_s": 1e-3, "peak_tflops": 0.2}
    return [
        make_result("flash", tflops=0.3, **peak),
        make_result("flash", tflops=0.19, fraction_of_peak=0.95, mask="causal", **peak),
        make_result("flash", tflops=0.182, fraction_of_peak=0.91, dtype="bf16", **peak),
        make_result(
            "flash", time_s=1e-3, tflops=0.246, fraction_of_peak=0.615, peak_tflops=0.4, threads=2, case="two"
        ),
    ]


def test_no_file_has_a_fraction_of_it_and_each_table_says_why(
    write_run: WriteRun, rows: list[Result]
) -> None:
    source = "[figures]\nthroughput = { where = 'mask == \"causal\"' }\nmatrix = {}\n"
    paths = write_report([write_run(rows, source)], formats=("png",))
    for name in ("summary.csv", "results.csv"):
        table = list(csv.DictReader(io.StringIO((paths.folder / name).read_text())))
        found = [row["fraction_of_peak"] for row in table if row["fraction_of_peak"]]
        assert found == ["0.615"], name
    assert [row["peak_refuted_by"] for row in table if row["threads"] == "1"] == ["1"] * 3
    text = paths.summary_markdown.read_text()
    assert [share for share in ("61.5", "95.0", "91.0") if share in text] == ["61.5"]
    summary, matrix = text.split("## Figures")[0], text.split("*matrix*: ")[1]
    assert summary.count(NOTE) == 1
    assert NOTE in text.split("*throughput*: ")[1].splitlines()[0]
    assert "peak" not in matrix.splitlines()[0]
    assert f"% {NOTE}" in (paths.folder / "summary.tex").read_text()
    (numbers,) = (paths.folder / "throughput.dat").read_text().splitlines()[2:]
    assert numbers.endswith(" nan")
    assert paths.html is not None
    results = paths.html.read_text().split('<section id="results">')[1].split("<table")[0]
    assert NOTE in results


def test_the_table_in_the_terminal_says_why(write_run: WriteRun, rows: list[Result]) -> None:
    text = io.StringIO()
    print_tables([write_run(rows)], Console(file=text, width=200), by_row=True)
    assert NOTE in " ".join(text.getvalue().split())
    assert [share for share in ("61.5", "95.0", "91.0") if share in text.getvalue()] == ["61.5"]

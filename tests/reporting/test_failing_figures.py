"""Figures whose own code fails: a line each; the tables, the page and the other figures are there."""

import pytest
from synthetic_results import RESULTS, WriteRun

from harness.reporting.figures.throughput import Throughput
from harness.reporting.report import make_report

FIGURES = "[figures]\nthroughput = {}\nmatrix = {}\n"


RAISED: list[tuple[Exception, str]] = [
    (
        FileNotFoundError(2, "No such file", "data.csv"),
        "FileNotFoundError: [Errno 2] No such file: 'data.csv'",
    ),
]


@pytest.mark.parametrize(("error", "reason"), RAISED)
def test_whatever_a_figure_raises_costs_that_figure(
    write_run: WriteRun, monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str
) -> None:
    def fail(self: object, *arguments: object) -> None:
        raise error

    monkeypatch.setattr(Throughput, "draw", fail)
    paths = make_report([write_run(RESULTS, FIGURES)], formats=("png",))
    assert paths.skipped == {"throughput": reason}
    assert paths.notes == (f"figure throughput not drawn: {reason}",)
    assert list(paths.figures) == ["matrix"]
    assert (paths.folder / "report.html").exists()

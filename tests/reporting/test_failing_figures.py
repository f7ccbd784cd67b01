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


@pytest.mark.parametrize("date", ["x"])
def test_a_date_of_the_environment_that_is_none_is_told_by_its_name(
    write_run: WriteRun, monkeypatch: pytest.MonkeyPatch, date: str
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", date)
    folder = write_run(RESULTS, "[figures]\nmatrix = {}\n")
    paths = make_report([folder], formats=("pdf",))
    expected = f'SOURCE_DATE_EPOCH: found "{date}", expected seconds since 1970'
    assert paths.notes == (f"figure matrix not drawn: {expected}",)
    assert list(make_report([folder], formats=("png",)).figures) == ["matrix"]

"""Figures whose own code fails: a line each; the tables, the page and the other figures are there."""

import pytest
from sweeps import sweep
from synthetic_results import RESULTS, WriteRun

from harness.reporting import write_report
from harness.reporting.figures.throughput import Throughput

FIGURES = "[figures]\nthroughput = {}\nmatrix = {}\n"


class SpeechlessError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no str")


class Leaves(BaseException):
    """What no `except Exception` catches."""


RAISED: list[tuple[BaseException, str]] = [
    (SpeechlessError(), "SpeechlessError: its message cannot be read (RuntimeError)"),
    (Leaves("away"), "Leaves: away"),
    (
        FileNotFoundError(2, "No such file", "data.csv"),
        "FileNotFoundError: [Errno 2] No such file: 'data.csv'",
    ),
    (GeneratorExit(), "GeneratorExit"),
    (BrokenPipeError(), "BrokenPipeError"),
]


@pytest.mark.parametrize(("error", "reason"), sweep(RAISED, but=RAISED[:3]))
def test_whatever_a_figure_raises_costs_that_figure(
    write_run: WriteRun, monkeypatch: pytest.MonkeyPatch, error: BaseException, reason: str
) -> None:
    def fail(self: object, *arguments: object) -> None:
        raise error

    monkeypatch.setattr(Throughput, "draw", fail)
    paths = write_report([write_run(RESULTS, FIGURES)], formats=("png",))
    assert paths.skipped == {"throughput": reason}
    assert paths.notes == (f"figure throughput not drawn: {reason}",)
    assert list(paths.figures) == ["matrix"]
    assert (paths.folder / "report.html").exists()


def test_ctrl_c_while_a_figure_is_drawn_is_ctrl_c(
    write_run: WriteRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(self: object, *arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Throughput, "draw", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_report([write_run(RESULTS, FIGURES)], formats=("png",))


@pytest.mark.parametrize("date", ["x", "9" * 30])
def test_a_date_of_the_environment_that_is_none_is_told_by_its_name(
    write_run: WriteRun, monkeypatch: pytest.MonkeyPatch, date: str
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", date)
    folder = write_run(RESULTS, "[figures]\nmatrix = {}\n")
    paths = write_report([folder], formats=("pdf",))
    expected = f'SOURCE_DATE_EPOCH: found "{date}", expected seconds since 1970'
    assert paths.notes == (f"figure matrix not drawn: {expected}",)
    assert list(write_report([folder], formats=("png",)).figures) == ["matrix"]

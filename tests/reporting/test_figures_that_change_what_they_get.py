"""Figures of plugins that change the rows that they get, or fail: no other figure shows it."""

import io
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
import pytest
from matplotlib.figure import Figure as Drawing
from rich.console import Console
from synthetic_results import WriteRun, sweep_results

from harness import plugins
from harness.reporting import report
from harness.reporting.figures.base import Figure

ROWS = [row for row in sweep_results() if row.seq_q <= 512 and row.head_dim == 64 and not row.causal]


def falsify(frame: pd.DataFrame) -> None:
    """Change a frame in all usual ways: in place, new columns, and none."""
    frame.loc[:, "speedup"] *= 2
    frame["status"] = "wrong"
    frame["time_s"] = 7.0
    del frame["seq"]


class Falsifier(Figure):
    name: ClassVar[str] = "falsifier"
    data_columns: ClassVar[tuple[str, ...]] = ("time_s",)

    def rows(self, frame: pd.DataFrame, settings: Any) -> pd.DataFrame:
        rows = frame.copy()
        falsify(frame)
        return rows

    def draw(self, frame: pd.DataFrame, settings: Any, caption: str) -> Drawing:
        falsify(frame)
        return Drawing()


def use(monkeypatch: pytest.MonkeyPatch, *figures: Figure) -> None:
    """Have these figures of plugins drawn, and then some of the harness's own."""
    load, own = plugins.load, {figure.name: figure for figure in figures}
    monkeypatch.setattr(plugins, "names", lambda kind: [*own, "speedup"])
    monkeypatch.setattr(plugins, "load", lambda kind, name: own.get(name) or load(kind, name))


def written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Return what a report says that has nothing to do with how many figures it has."""
    text = io.StringIO()
    monkeypatch.setattr(report, "_console", lambda: Console(file=text, width=200))
    paths = report.make_report([folder], formats=("svg",))
    own = (Falsifier.name, "summary", "report")
    files = {file.name: file.read_bytes() for file in paths.folder.iterdir() if file.stem not in own}
    summary = paths.summary_markdown.read_bytes().partition(b"## Figures")[0]
    return {**files, "summary": summary, "terminal": text.getvalue().encode()}


def test_what_a_figure_does_to_its_rows_is_nowhere_else(
    write_run: WriteRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_run(ROWS)
    use(monkeypatch)
    without = written(folder, monkeypatch)
    assert {"speedup.svg", "speedup.dat", "results.csv"} <= set(without)
    use(monkeypatch, Falsifier())
    assert written(folder, monkeypatch) == without

"""A run's report: tables, figures and a page as files, and the tables in the terminal."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import plugins
from harness.reporting.csv_tables import full_csv
from harness.reporting.drawing import (
    Drawn,
    check_wanted,
    draw_figures,
    with_assignments,
)
from harness.reporting.failures import failures_of, print_failure_list
from harness.reporting.figures.base import USUAL_FORMATS, check_formats
from harness.reporting.html.page import html_page
from harness.reporting.latex import summary_latex
from harness.reporting.panel_tables import PanelTable, marks_explained, panel_tables, rich_panel
from harness.reporting.runs import Runs, read_runs
from harness.reporting.summary_columns import summary_title
from harness.reporting.summary_text import figures_markdown, summary_markdown
from harness.reporting.tables import rich_table, summarize
from harness.system.errors import HarnessError, InputError
from harness.system.printable import shell_line
from harness.system.storage.replacing import remove_leftovers, write_text

if TYPE_CHECKING:
    from rich.console import Console

    from harness.experiment.experiment import Experiment

SUMMARY_MARKDOWN = "summary.md"
SUMMARY_LATEX = "summary.tex"
RESULTS_CSV = "results.csv"
PAGE = "report.html"
WIDTH_WITHOUT_TERMINAL = 200
MOST_ROWS_PRINTED = 200
"""Of a run with more rows the terminal shows the first; the CSV files have all."""
LONGEST_REPORT_S = 3600.0
"""Seconds after which a half-written file in a report's folder is nobody's any more."""

Folders = Sequence[str | Path]


@dataclass(frozen=True)
class ReportPaths:
    """The files of a report."""

    folder: Path
    summary_markdown: Path
    results_csv: Path
    figures: Mapping[str, tuple[Path, ...]]
    """Files of each figure, one per format."""
    skipped: Mapping[str, str]
    """Figures that were not drawn, and why."""
    notes: tuple[str, ...] = ()
    """What a person should know of the figures, a line each."""
    html: Path | None = None
    """All of it as one page; None where the library for its tables is not installed."""


def make_report(
    folders: Folders,
    out: str | Path | None = None,
    formats: Sequence[str] = USUAL_FORMATS,
    *,
    labels: Sequence[str] = (),
    experiment: Experiment | None = None,
    by_row: bool = False,
    published: bool = False,
) -> ReportPaths:
    """Write tables, figures and `report.html` of one or several runs, and print the tables.

    Each folder is a run's, or an experiment's, of which the newest run is taken; several are merged, and
    `labels` say what they are called, one for each folder.  The files go to `out`, by default to `report/` in
    the run's folder; several runs have no such place.  Drawn are the figures that the experiments, or an
    edited `experiment`, name under `[figures]`, or all that apply where none is named; one that cannot be
    drawn is among the paths' `skipped`.  `by_row` prints a row for each case, `published` is as in
    `draw_figures`.  Raises `InputError` for a folder without results, several runs without `out`, unknown
    formats, or an output folder that cannot be written.
    """
    check_formats(formats)
    runs = read_runs(folders, labels)
    folder, panels = _report_folder(runs, out), panel_tables(runs.frame)
    wanted = runs.figures if experiment is None else experiment.figures
    paths = _write(runs, panels, folder, formats, wanted, published=published)
    print_tables(runs, panels, _console(), by_row=by_row)
    return paths


def redraw(
    folders: Folders,
    figures: Sequence[str],
    assignments: Sequence[str] = (),
    out: str | Path | None = None,
    formats: Sequence[str] = USUAL_FORMATS,
    *,
    labels: Sequence[str] = (),
    experiment: Experiment | None = None,
    published: bool = False,
) -> Drawn:
    """Draw figures of runs again, with settings of the runs' experiments, or of an edited one, and others.

    `assignments` are `KEY=VALUE`, see `harness.reporting.drawing.with_assignments`.  Raises `InputError` as
    `make_report` does, and for settings that cannot be.
    """
    check_formats(formats)
    runs = read_runs(folders, labels)
    folder = _report_folder(runs, out)
    kept = runs.figures if experiment is None else experiment.figures
    wanted = {
        name: with_assignments(kept.get(name, {}), assignments, plugins.load("figure", name))
        for name in figures
    }
    check_wanted(runs, wanted)
    with _written_to(folder, runs):
        folder.mkdir(parents=True, exist_ok=True)
        return draw_figures(runs, wanted, folder, formats, published=published)


def _report_folder(runs: Runs, out: str | Path | None) -> Path:
    """Return where the report of these runs goes; raises `InputError` where there is nothing or no place."""
    if out is None and len(runs.folders) > 1:
        raise InputError(
            f"--out is missing: {len(runs.folders)} runs are merged; expected a folder for their report, "
            "such as --out results/merged"
        )
    if runs.frame.empty:
        raise InputError(f"{runs.folders[0]}: no case has finished yet; expected at least one row")
    return runs.folders[0] / "report" if out is None else Path(out)


def _write(
    runs: Runs,
    panels: Sequence[PanelTable],
    folder: Path,
    formats: Sequence[str],
    wanted: Mapping[str, Mapping[str, Any]],
    *,
    published: bool,
) -> ReportPaths:
    """Write the tables, then draw the figures, then write the text again, with the figures, and the page."""
    text, summary = folder / SUMMARY_MARKDOWN, summarize(runs.frame)
    with _written_to(folder, runs):
        if folder.parent in runs.folders:
            remove_leftovers(folder, LONGEST_REPORT_S)
        folder.mkdir(parents=True, exist_ok=True)
        tables = summary_markdown(runs, panels, summary)
        write_text(text, tables)
        write_text(folder / SUMMARY_LATEX, "".join(f"{line}\n" for line in summary_latex(panels, summary)))
        write_text(folder / RESULTS_CSV, full_csv(runs.frame))
        drawn = draw_figures(runs, wanted, folder, formats, published=published)
        write_text(text, tables + figures_markdown(drawn))
        html = _write_page(folder / PAGE, runs, panels, drawn)
    return ReportPaths(
        folder=folder,
        summary_markdown=text,
        results_csv=folder / RESULTS_CSV,
        figures=drawn.files,
        skipped=drawn.skipped,
        notes=tuple(drawn.notes),
        html=html,
    )


def _write_page(path: Path, runs: Runs, panels: Sequence[PanelTable], drawn: Drawn) -> Path | None:
    """Write the page, or note why there is none; the rest of a report does not depend on it."""
    try:
        write_text(path, html_page(runs, panels, drawn))
    except HarnessError as error:
        drawn.notes.append(f"{path.name} not written: {error}")
        return None
    return path


@contextmanager
def _written_to(folder: Path, runs: Runs) -> Iterator[None]:
    """Turn what keeps a report from being written into one line."""
    try:
        yield
    except OSError as error:
        elsewhere = ""
        if folder.parent in runs.folders:
            command = shell_line(["harness", "report", str(folder.parent)])
            elsewhere = f"; elsewhere it is written by: {command} --out DIR"
        reason = f"cannot write the report: {error.strerror or error}"
        raise InputError(f"{folder}: {reason}{elsewhere}") from error


def print_tables(runs: Runs, panels: Sequence[PanelTable], console: Console, *, by_row: bool = False) -> None:
    """Print what runs measured, then what did not pass.

    That is a table of variants and lengths for each panel; where nothing was timed, or by choice, a row for
    each case.  What is wider than the terminal stays whole: its numbers are never cut.
    """
    show = partial(console.print, markup=False, highlight=False, soft_wrap=True)
    for line in runs.unfinished:
        show(line)
    if panels and not by_row:
        show(summary_title(runs.frame))
        for panel in panels:
            console.print(rich_panel(panel), soft_wrap=True)
        for note in marks_explained([panel.rows for panel in panels]):
            show(note)
    else:
        summary = summarize(runs.frame, MOST_ROWS_PRINTED)
        console.print(rich_table(summary), soft_wrap=True)
        if summary.hidden:
            show(f"and {summary.hidden} more rows, all of them in {RESULTS_CSV}")
    print_failure_list(failures_of(runs.frame), console)
    for note in (*runs.notes, *runs.remarks):
        show(note)


def _console() -> Console:
    """Return a console that is wide where no terminal limits it, unless COLUMNS says otherwise."""
    from rich.console import Console

    console = Console(markup=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console = Console(width=WIDTH_WITHOUT_TERMINAL, markup=False, emoji=False)
    return console

"""A run's report: tables, figures and a page as files, and the tables in the terminal."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness import plugins
from harness.errors import HarnessError, InputError
from harness.printable import shell_line
from harness.reporting.csv_tables import full_csv, summary_csv
from harness.reporting.drawing import (
    Drawn,
    check_wanted,
    draw_figures,
    remove_outdated,
    require_overlay,
    with_assignments,
)
from harness.reporting.failures import failures_of, missing_packages, print_failure_list, without_missing
from harness.reporting.figures.base import USUAL_FORMATS, check_formats
from harness.reporting.html.page import html_page
from harness.reporting.latex import summary_latex
from harness.reporting.panel_tables import panel_tables, rich_panel, terminal_notes
from harness.reporting.runs import Runs, read_runs
from harness.reporting.summary_columns import summary_title
from harness.reporting.summary_text import figures_markdown, summary_markdown
from harness.reporting.tables import rich_table, summarize
from harness.results.run_folder import RESULTS_FILE
from harness.storage.replacing import own_folder, remove_leftovers, write_text

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from harness.experiment.experiment import Experiment

SUMMARY_MARKDOWN = "summary.md"
SUMMARY_CSV = "summary.csv"
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
    summary_csv: Path
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
    """Write the report of one or several runs, see `write_report`, and print its tables.

    `labels` say what the runs are called, one for each folder.  An `experiment` is an edited one, whose
    figures are drawn instead of those of the runs.  `by_row` is as in `print_tables`,
    `published` as in `draw_figures`.
    """
    runs = read_runs(folders, labels)
    paths = _write(runs, _report_folder(runs, out), formats, experiment, published=published)
    _print(runs, _console(), by_row)
    return paths


def write_report(
    folders: Folders, out: str | Path | None = None, formats: Sequence[str] = USUAL_FORMATS
) -> ReportPaths:
    """Write tables, figures and `report.html` of one or several runs.

    Each folder is a run's, or an experiment's, of which the newest run is taken; several are merged.  The
    files go to `out`, by default to `report/` in the run's folder; several runs have no such place.  Drawn
    are the figures that the experiments name under `[figures]`, or all that apply where none is named; one
    that cannot be drawn is among the paths' `skipped`, and the text's tables are written before the first.
    Raises `InputError` for a folder without results, several runs without
    `out`, unknown formats, or an output folder that cannot be written.
    """
    runs = read_runs(folders)
    return _write(runs, _report_folder(runs, out), formats)


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
    `write_report` does, and for settings that cannot be.
    """
    check_formats(formats)
    if published:
        require_overlay(figures)
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


def print_tables(folders: Folders, console: Console | None = None, *, by_row: bool = False) -> None:
    """Print what one or several runs measured, then what did not pass.

    That is a table of variants and lengths for each panel; where nothing was timed, or by choice, a row for
    each case.
    """
    _print(read_runs(folders), console or _console(), by_row)


def print_failures(folders: Folders, console: Console | None = None) -> None:
    """Print what did not pass in one or several runs, each with its reason and the command to rerun it."""
    print_failure_list(failures_of(read_runs(folders).frame), console or _console())


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
    folder: Path,
    formats: Sequence[str],
    experiment: Experiment | None = None,
    *,
    published: bool = False,
) -> ReportPaths:
    """Write the tables, then draw the figures, then write the text again, with the figures, and the page.

    A thread writes the CSV files meanwhile.  Of long runs they are much of the work, nearly all of it
    pyarrow's and the disk's, which leave the interpreter to the rest.
    """
    check_formats(formats)
    wanted = runs.figures if experiment is None else experiment.figures
    rows = runs.frame
    text = folder / SUMMARY_MARKDOWN
    with _written_to(folder, runs):
        if folder.parent in runs.folders:
            remove_leftovers(own_folder(folder), LONGEST_REPORT_S)
        folder.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(max_workers=1) as beside:
            csv_files = beside.submit(_write_csv_files, folder.absolute(), rows)
            tables = summary_markdown(runs, rows)
            write_text(text, tables)
            write_text(folder / SUMMARY_LATEX, "".join(f"{line}\n" for line in summary_latex(rows)))
            drawn = draw_figures(runs, wanted, folder, formats, published=published)
            if folder.parent in runs.folders:
                written = [path for paths in drawn.files.values() for path in paths]
                changed = max((path / RESULTS_FILE).stat().st_mtime_ns for path in runs.folders)
                drawn.notes += remove_outdated(folder, written, changed)
            write_text(text, tables + figures_markdown(runs, drawn))
            html = _write_page(folder / PAGE, runs, rows, drawn)
            csv_files.result()
    return ReportPaths(
        folder=folder,
        summary_markdown=text,
        summary_csv=folder / SUMMARY_CSV,
        results_csv=folder / RESULTS_CSV,
        figures=drawn.files,
        skipped=drawn.skipped,
        notes=tuple(drawn.notes),
        html=html,
    )


def _write_page(path: Path, runs: Runs, rows: pd.DataFrame, drawn: Drawn) -> Path | None:
    """Write the page, or note why there is none; the rest of a report does not depend on it."""
    try:
        write_text(path, html_page(runs, rows, drawn))
    except HarnessError as error:
        drawn.notes.append(f"{path.name} not written: {error}")
        return None
    return path


def _write_csv_files(folder: Path, rows: pd.DataFrame) -> None:
    for name, text in ((SUMMARY_CSV, summary_csv(rows)), (RESULTS_CSV, full_csv(rows))):
        write_text(folder / name, text)


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


def _print(runs: Runs, console: Console, by_row: bool) -> None:
    if runs.frame.empty:
        console.print("no case has finished yet")
        return
    rows = runs.frame
    missing = missing_packages(rows, is_pasted_here=True)
    if missing is not None:
        console.print(missing, markup=False, highlight=False, soft_wrap=True)
        rows = without_missing(rows)
    _print_rows(rows, console, by_row)
    print_failure_list(failures_of(rows), console)
    for note in (*runs.notes, *runs.remarks):
        console.print(note, markup=False, highlight=False, soft_wrap=True)


def _print_rows(rows: pd.DataFrame, console: Console, by_row: bool) -> None:
    """Print tables; soft_wrap keeps one wider than the terminal whole instead of cutting its numbers."""
    panels = [] if by_row else panel_tables(rows)
    if panels:
        console.print(summary_title(rows), markup=False, highlight=False, soft_wrap=True)
        for panel in panels:
            console.print(rich_panel(panel, console.width), soft_wrap=True)
        for note in terminal_notes(panels, console.width):
            console.print(note, markup=False, highlight=False, soft_wrap=True)
        return
    if rows.empty:
        return
    summary = summarize(rows, MOST_ROWS_PRINTED)
    console.print(rich_table(summary, console.width), soft_wrap=True)
    if summary.hidden:
        console.print(f"and {summary.hidden} more rows, all of them in {SUMMARY_CSV}", highlight=False)


def _console() -> Console:
    """Return a console that is wide where no terminal limits it, unless COLUMNS says otherwise."""
    from rich.console import Console

    console = Console(markup=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console = Console(width=WIDTH_WITHOUT_TERMINAL, markup=False, emoji=False)
    return console

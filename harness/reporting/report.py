"""A run's report: tables, figures and a page as files, and the tables in the terminal."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from harness import plugins
from harness.experiment.experiment import Experiment
from harness.reporting.asked_tables import asked_table
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
from harness.reporting.panel_tables import (
    PanelTable,
    marks_explained,
    panel_tables,
    paper_grids,
    rich_panel,
)
from harness.reporting.published.alone import published_alone
from harness.reporting.runs import Runs, names_of, read_runs, with_names
from harness.reporting.summary_columns import summary_title
from harness.reporting.summary_text import figures_markdown, summary_markdown
from harness.reporting.tables import case_lines, rich_table, summarize
from harness.system.errors import HarnessError, InputError
from harness.system.printable import shell_line
from harness.system.storage.replacing import remove_leftovers, write_text

SUMMARY_MARKDOWN = "summary.md"
SUMMARY_LATEX = "summary.tex"
RESULTS_CSV = "results.csv"
PAGE = "report.html"
WIDTH_WITHOUT_TERMINAL = 100
"""Columns of a log that nobody sees in a terminal; tables that are wider are lines there."""
WIDEST = 10_000
"""Columns that no table has."""
MOST_ROWS_PRINTED = 200
"""Of a run with more rows the terminal shows the first; the CSV files have all."""
LONGEST_REPORT_S = 3600.0
"""Seconds after which a half-written file in a report's folder is nobody's any more."""

OF_VARIANTS = ("variants", "names")
"""Settings of figures that name variants, of which published points have none."""

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
    notes: tuple[str, ...] = ()
    """What a person should know of the figures, a line each."""
    html: Path | None = None
    """All of it as one page; None where the library for its tables is not installed."""
    is_whole: bool = True
    """Whether no shard of the runs is missing, and each planned case has a row."""


def make_report(
    folders: Folders,
    out: str | Path | None = None,
    formats: Sequence[str] = USUAL_FORMATS,
    *,
    labels: Sequence[str] = (),
    experiment: Experiment | None = None,
    by_row: bool = False,
    overlaid: Mapping[str, Any] | None = None,
) -> ReportPaths:
    """Write tables, figures and `report.html` of one or several runs, and print the tables.

    Each folder is a run's, or an experiment's, of which the newest run is taken; several are merged, and
    `labels` say what they are called, one for each folder.  The files go to `out`, by default to `report/` in
    the run's folder; several runs have no such place.  Drawn are the figures that the experiments, or an
    edited `experiment`, name under `[figures]`, or all that apply where none is named; one that cannot be
    drawn is among the paths' `skipped`.  `by_row` prints a row for each case, `overlaid` is as in
    `draw_figures`.  Raises `InputError` for a folder without results, several runs without `out`, unknown
    formats, or an output folder that cannot be written.
    """
    check_formats(formats)
    runs = read_runs(folders, labels)
    wanted = runs.figures if experiment is None else experiment.figures
    folder, named = _report_folder(runs, out), with_names(runs, wanted)
    panels = panel_tables(named.frame)
    paths = _write(runs, named, panels, folder, formats, wanted, overlaid=overlaid)
    print_tables(named, panels, _console(), by_row=by_row)
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
    overlaid: Mapping[str, Any] | None = None,
) -> Drawn:
    """Draw figures of runs again, with settings of the runs' experiments, or of an edited one, and others."""
    runs = read_runs(folders, labels)
    kept = runs.figures if experiment is None else experiment.figures
    return _redraw(runs, kept, figures, assignments, _report_folder(runs, out), formats, overlaid)


def draw_published(
    experiment: Experiment,
    figures: Sequence[str],
    assignments: Sequence[str],
    folder: Path,
    formats: Sequence[str] = USUAL_FORMATS,
    *,
    overlaid: Mapping[str, Any] | None = None,
) -> Drawn:
    """Draw what others published of an experiment's problems, without any run; see `redraw`."""
    runs = published_alone(experiment, overlaid or {})
    kept = {
        name: {key: value for key, value in settings.items() if key not in OF_VARIANTS}
        for name, settings in runs.figures.items()
    }
    return _redraw(runs, kept, figures, assignments, folder, formats, None)


def _redraw(
    runs: Runs,
    kept: Mapping[str, Mapping[str, Any]],
    figures: Sequence[str],
    assignments: Sequence[str],
    folder: Path,
    formats: Sequence[str],
    overlaid: Mapping[str, Any] | None,
) -> Drawn:
    check_formats(formats)
    wanted = {
        name: with_assignments(kept.get(name, {}), assignments, plugins.load("figure", name))
        for name in figures
    }
    check_wanted(runs, wanted)
    with _written_to(folder, runs):
        folder.mkdir(parents=True, exist_ok=True)
        return draw_figures(runs, wanted, folder, formats, overlaid=overlaid)


def tabulate(
    folders: Folders,
    asked: str,
    values: Sequence[str] = (),
    where: str | None = None,
    out: str | Path | None = None,
    *,
    labels: Sequence[str] = (),
    experiment: Experiment | None = None,
    assignments: Sequence[str] = (),
) -> list[Path]:
    """Print the table of runs that somebody asks for, `variant by seq`, write it, and return its files."""
    runs = read_runs(folders, labels)
    folder = _report_folder(runs, out)
    names = names_of(runs.figures if experiment is None else experiment.figures)
    if assignments:
        settings = with_assignments({"names": names}, assignments, plugins.load("figure", "throughput"))
        if others := [key for key in settings if key != "names"]:
            raise InputError(f"--set {others[0]}=: found no --figure; a --table takes names.SERIES=NAME only")
        check_wanted(runs, {"throughput": settings})
        names = names_of({"": settings})
    table = asked_table(runs.frame, asked, values, where, names)
    with _written_to(folder, runs):
        folder.mkdir(parents=True, exist_ok=True)
        files = table.write(folder)
    console = _console()
    show = partial(console.print, markup=False, highlight=False, soft_wrap=True)
    show(table.title)
    for part in table.on_terminal():
        console.print(part, soft_wrap=True)
    for note in (*table.notes, *runs.notes):
        show(note)
    return files


def _report_folder(runs: Runs, out: str | Path | None) -> Path:
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
    named: Runs,
    panels: Sequence[PanelTable],
    folder: Path,
    formats: Sequence[str],
    wanted: Mapping[str, Mapping[str, Any]],
    *,
    overlaid: Mapping[str, Any] | None,
) -> ReportPaths:
    """Write the tables, then draw the figures, then write the text again, with the figures, and the page.

    `named` are the runs with the names that series have in tables.
    """
    text, summary = folder / SUMMARY_MARKDOWN, summarize(named.frame)
    with _written_to(folder, runs):
        if folder.parent in runs.folders:
            remove_leftovers(folder, LONGEST_REPORT_S)
        folder.mkdir(parents=True, exist_ok=True)
        tables = summary_markdown(named, panels, summary)
        write_text(text, tables)
        write_text(
            folder / SUMMARY_LATEX,
            "".join(f"{line}\n" for line in summary_latex(paper_grids(named.frame), summary)),
        )
        write_text(folder / RESULTS_CSV, full_csv(runs.frame))
        drawn = draw_figures(runs, wanted, folder, formats, overlaid=overlaid, has_others=True)
        write_text(text, tables + figures_markdown(drawn))
        html = _write_page(folder / PAGE, named, panels, drawn)
    return ReportPaths(
        folder=folder,
        summary_markdown=text,
        results_csv=folder / RESULTS_CSV,
        figures=drawn.files,
        skipped=drawn.skipped,
        notes=tuple(drawn.notes),
        html=html,
        is_whole=runs.is_whole,
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
    """Print what runs measured, then what did not pass; a log has a line for each case for a wide table."""
    show = partial(console.print, markup=False, highlight=False, soft_wrap=True)
    for line in runs.unfinished:
        show(line)
    tables = [rich_panel(panel) for panel in panels]
    if tables and not by_row and _has_room(console, tables):
        show(summary_title(runs.frame))
        for table in tables:
            console.print(table, soft_wrap=True)
        for note in marks_explained([panel.rows for panel in panels]):
            show(note)
    else:
        summary = summarize(runs.frame, MOST_ROWS_PRINTED)
        if _has_room(console, [rich_table(summary)]):
            console.print(rich_table(summary), soft_wrap=True)
        else:
            for line in case_lines(summary, runs.frame):
                show(line)
        if summary.hidden:
            show(f"and {summary.hidden} more rows, all of them in {RESULTS_CSV}")
    print_failure_list(failures_of(runs.frame), console)
    for note in (*runs.notes, *runs.remarks):
        show(note)


def _has_room(console: Console, tables: Sequence[Table]) -> bool:
    """Whether tables are no wider than a log; a terminal can be made wider."""
    options = console.options.update_width(WIDEST)
    widths = [console.measure(table, options=options).minimum for table in tables]
    return console.is_terminal or max(widths) <= console.width


def _console() -> Console:
    """Return a console that is as wide as logs are read where no terminal limits it, or as COLUMNS says."""
    console = Console(markup=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console = Console(width=WIDTH_WITHOUT_TERMINAL, markup=False, emoji=False)
    return console

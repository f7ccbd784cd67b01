"""A run's report: tables and figures as files, and the tables in the terminal."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness import plugins
from harness.errors import InputError
from harness.experiment.figure_settings import parse_settings
from harness.printable import markdown_code, markdown_text
from harness.reporting.captions import describe_code, figure_caption
from harness.reporting.failures import failures_of, markdown_failures, print_failure_list
from harness.reporting.figures.base import (
    FORMATS,
    Figure,
    FigureSettings,
    NothingToDraw,
    check_formats,
    save,
)
from harness.reporting.runs import Runs, read_runs
from harness.reporting.tables import (
    full_csv,
    markdown_table,
    rich_table,
    summarize,
    summary_csv,
)
from harness.storage.replacing import own_folder, write_text

if TYPE_CHECKING:
    from rich.console import Console

SUMMARY_MARKDOWN = "summary.md"
SUMMARY_CSV = "summary.csv"
RESULTS_CSV = "results.csv"
WIDTH_WITHOUT_TERMINAL = 200

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


def write_report(
    folders: Folders, out: str | Path | None = None, formats: Sequence[str] = FORMATS
) -> ReportPaths:
    """Write `summary.md`, `summary.csv`, `results.csv` and the figures of one or several runs.

    Each folder is a run's, or an experiment's, of which the newest run is taken; several are merged.  The
    files go to `out`, by default to `report/` in the run's folder; several runs have no such place.  Drawn
    are the figures that the experiments name under `[figures]`, or all that apply where none is named.  Equal
    results give equal files.  Raises `InputError` for a folder without results, several runs without
    `out`, unknown formats, bad figure settings, or an output folder that cannot be written.
    """
    check_formats(formats)
    runs = read_runs(folders)
    if out is None and len(runs.folders) > 1:
        raise InputError(
            f"--out is missing: {len(runs.folders)} runs are merged; expected a folder for their report, "
            "such as --out results/merged"
        )
    if runs.frame.empty:
        raise InputError(f"{runs.folders[0]}: no case has finished yet; expected at least one row")
    settings = _figure_settings(runs)
    folder = runs.folders[0] / "report" if out is None else Path(out)
    try:
        if out is None:
            own_folder(folder)
        folder.mkdir(parents=True, exist_ok=True)
        figures, skipped = _write_figures(runs, settings, folder, formats)
        paths = ReportPaths(
            folder=folder,
            summary_markdown=folder / SUMMARY_MARKDOWN,
            summary_csv=folder / SUMMARY_CSV,
            results_csv=folder / RESULTS_CSV,
            figures=figures,
            skipped=skipped,
        )
        write_text(paths.summary_markdown, summary_markdown(runs, paths))
        write_text(paths.summary_csv, summary_csv(runs.frame))
        write_text(paths.results_csv, full_csv(runs.frame))
    except OSError as error:
        raise InputError(f"{folder}: cannot write the report: {error.strerror or error}") from error
    return paths


def print_tables(folders: Folders, console: Console | None = None) -> None:
    """Print the summary of one or several runs, then what did not pass."""
    runs = read_runs(folders)
    console = console or _console()
    if runs.frame.empty:
        console.print("no case has finished yet")
        return
    # soft_wrap keeps a table wider than the terminal whole instead of cutting its numbers.
    console.print(rich_table(summarize(runs.frame), console.width), soft_wrap=True)
    print_failure_list(failures_of(runs.frame), console)
    for note in runs.notes:
        console.print(note, markup=False, highlight=False, soft_wrap=True)


def print_failures(folders: Folders, console: Console | None = None) -> None:
    """Print what did not pass in one or several runs, each with its reason and the command to rerun it."""
    print_failure_list(failures_of(read_runs(folders).frame), console or _console())


def summary_markdown(runs: Runs, paths: ReportPaths) -> str:
    """Return the report's text: question, machine, summary, what did not pass, figures with captions."""
    questions = dict.fromkeys(
        f"**{markdown_text(run.experiment)}**: {markdown_text(run.question)}" for run in runs.manifests
    )
    origins = [
        f"- {markdown_text(run.experiment)} {markdown_code(folder.name)}: {markdown_text(run.device)}, "
        f"{describe_code(run)}, {markdown_code(run.command)}"
        for folder, run in zip(runs.folders, runs.manifests, strict=True)
    ]
    summary = summarize(runs.frame)
    parts = [
        f"# {', '.join(dict.fromkeys(markdown_text(run.experiment) for run in runs.manifests))}",
        "\n\n".join(questions),
        "\n".join(origins),
        "## Summary",
        markdown_text(summary.title),
        markdown_table(summary).rstrip(),
    ]
    failures = markdown_failures(failures_of(runs.frame)).rstrip()
    if failures:
        parts += ["## Not passed", failures]
    if paths.figures or paths.skipped:
        parts.append("## Figures")
    for name, files in paths.figures.items():
        shown = next((file for file in files if file.suffix in (".png", ".svg")), files[0])
        parts += [f"![{name}]({shown.name})", f"*{name}*: {figure_caption(runs.frame, runs.manifests)}"]
    parts += [f"*{name}* not drawn: {reason}." for name, reason in paths.skipped.items()]
    return "\n\n".join(parts) + "\n"


def _figure_settings(runs: Runs) -> dict[str, tuple[Figure, FigureSettings]]:
    """Return the figures to draw with their settings, all validated before the first is drawn."""
    wanted = runs.figures or {name: {} for name in plugins.names("figure")}
    figures = {}
    for name, values in wanted.items():
        figure: Figure = plugins.load("figure", name)
        figures[name] = (figure, parse_settings(figure, values))
    return figures


def _write_figures(
    runs: Runs, settings: Mapping[str, tuple[Figure, FigureSettings]], folder: Path, formats: Sequence[str]
) -> tuple[dict[str, tuple[Path, ...]], dict[str, str]]:
    """Draw each figure; return the files of those drawn and the reasons of the others."""
    caption = figure_caption(runs.frame, runs.manifests)
    written: dict[str, tuple[Path, ...]] = {}
    skipped: dict[str, str] = {}
    for name, (figure, chosen) in settings.items():
        try:
            drawing = figure.draw(runs.frame, chosen, caption)
        except NothingToDraw as reason:
            skipped[name] = str(reason)
            continue
        written[name] = save(drawing, folder / name, formats)
    return written, skipped


def _console() -> Console:
    """Return a console that is wide where no terminal limits it, unless COLUMNS says otherwise."""
    from rich.console import Console

    console = Console()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console = Console(width=WIDTH_WITHOUT_TERMINAL)
    return console

"""The commands on runs that are there: report, explain, archive and compare."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.app import app
from harness.cli.compare import (
    FailOn,
    compared_folders,
    compared_in_turn,
    margins_of,
    share_of,
    tell_comparison,
)
from harness.cli.options import FigureFormat, Only, Out, Profile, given_path
from harness.cli.runs import note, open_page
from harness.results.default_out import DEFAULT_OUT
from harness.system.printable import printable


@app.command(short_help="Write tables, figures and a page of one run or several.")
def report(
    folders: Annotated[
        list[Path],
        typer.Argument(
            parser=given_path,
            metavar="DIR...",
            help="Folders or archives of runs, or an experiment's folder: its newest run.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            parser=given_path,
            metavar="DIR",
            help="Folder of the report; needed for several runs.  [default: report/ in the run's folder]",
        ),
    ] = None,
    formats: Annotated[
        list[FigureFormat] | None,
        typer.Option("--format", help="File format of figures, instead of svg; may be repeated."),
    ] = None,
    figures: Annotated[
        list[str] | None,
        typer.Option("--figure", metavar="NAME", help="Only draw this figure again; may be repeated."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Setting of the --figure, such as style=bars; KEY= gives it its default; may be repeated.",
        ),
    ] = None,
    experiment: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Take [figures] from this experiment instead of the run's own."),
    ] = None,
    labels: Annotated[
        list[str] | None,
        typer.Option("--label", metavar="NAME", help="What to call a run of several, one for each DIR."),
    ] = None,
    published: Annotated[
        bool, typer.Option("--published", help="Overlay what others published of the measured problems.")
    ] = False,
    by_row: Annotated[
        bool, typer.Option("--rows", help="Print a row for each case instead of a table for each panel.")
    ] = False,
    opens: Annotated[bool, typer.Option("--open", help="Open the report's page in the browser.")] = False,
) -> None:
    """Write tables, figures and a page of one run or of several together, or draw figures differently."""
    from harness.reporting.figures.base import USUAL_FORMATS
    from harness.reporting.report import make_report, redraw
    from harness.results.archive import is_archive
    from harness.results.output_folder import ensure_writable_folder
    from harness.system.errors import InputError

    if settings and not figures:
        raise InputError("--set: found no --figure, expected the figure that the settings are for")
    if opens and figures:
        raise InputError("--open: found --figure, which writes no page; expected only one of both")
    if out is None and any(is_archive(folder) for folder in folders):
        raise InputError("--out: found none, expected a folder: an archive has no place for a report")
    if out is not None:
        ensure_writable_folder(out)
    chosen = tuple(format.value for format in formats) if formats else USUAL_FORMATS
    edited = None
    if experiment is not None:
        from harness.experiment.experiment import load_experiment
        from harness.experiment.shipped import find_experiment

        edited = load_experiment(find_experiment(experiment))
    if figures:
        drawn = redraw(
            folders,
            figures,
            settings or [],
            out,
            chosen,
            labels=labels or [],
            experiment=edited,
            published=published,
        )
        for path in (path for paths in drawn.files.values() for path in paths):
            typer.echo(printable(f"figure: {path}"))
        note(drawn.notes)
        if drawn.skipped:
            raise typer.Exit(1)
        return
    paths = make_report(
        folders,
        out,
        chosen,
        labels=labels or [],
        experiment=edited,
        by_row=by_row,
        published=published,
    )
    note(paths.notes)
    typer.echo(printable(f"report: {paths.folder}"))
    if opens and paths.html is not None:
        note(open_page(paths.html))


@app.command(short_help="Say which rows, run and command a figure comes from.")
def explain(
    figure: Annotated[
        Path, typer.Argument(metavar="FIGURE", help="File of a figure in a report: .png, .svg, .pdf or .dat.")
    ],
    results: Annotated[
        list[Path] | None,
        typer.Option(
            parser=given_path,
            metavar="DIR",
            help="Folder in which the run is looked for; may be repeated.  [default: results]",
        ),
    ] = None,
) -> None:
    """Say where a figure comes from: run, rows, command, code and machine, and the command that redraws it.

    All of it stands in the figure's own file; where the run's folder is found, more of its manifest follows.
    """
    from harness.reporting.explaining import explain as explained

    for line in explained(figure, results or [DEFAULT_OUT]):
        typer.echo(printable(line))


@app.command(short_help="Pack a run into one file, which other machines report and compare.")
def archive(
    folder: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run's folder, or an experiment's: its newest run.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            parser=given_path, metavar="FILE", help="The file.  [default: EXPERIMENT-RUN.tar.gz, here]"
        ),
    ] = None,
) -> None:
    """Pack a run into one file: its rows, samples and manifest, from which reports are made again."""
    from harness.results.archive import SUFFIX, write_archive
    from harness.results.loading import open_run
    from harness.system.errors import InputError

    run = open_run(folder)
    file = out or Path(f"{run.experiment}-{run.run}{SUFFIX}")
    if not file.name.endswith(SUFFIX):
        raise InputError(f"--out: found {str(file)!r}, expected a name that ends in {SUFFIX}")
    write_archive(run.path, file)
    typer.echo(printable(f"archive: {file}"))


@app.command(short_help="Compare two runs case by case: right or wrong, faster or slower.")
def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(
            parser=given_path,
            metavar="OLD NEW",
            help="Folders of runs, or of experiments: their newest runs. With --revisions, an experiment.",
        ),
    ],
    revisions: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="A B", help="Run an experiment with two git revisions in turn, and compare them."
        ),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=1.0,
            help="With --revisions: time a case for so long at most; 20 if not given, which finds a "
            "difference of 1.3 % in nine of ten on a quiet machine, and of 1.9 % with one core busy.",
        ),
    ] = None,
    only: Only = None,
    profile: Profile = None,
    out: Out = DEFAULT_OUT,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Keep the finished cases of revisions that were ended; run the others."
        ),
    ] = False,
    threshold: Annotated[
        float,
        typer.Option(
            parser=share_of,
            metavar="SHARE",
            help="The gate: a slowdown above it is slower, as 3% or 0.03.",
        ),
    ] = 0.03,
    minimum_effect: Annotated[
        float,
        typer.Option(
            parser=share_of,
            metavar="SHARE",
            help="A difference up to it is none; by default any that the interval shows is told.",
        ),
    ] = 0.0,
    fail_on: Annotated[
        FailOn,
        typer.Option(
            help="What ends in exit status 1: what is slower, or also what is ambiguous. "
            "A case that was right and is not any more always does."
        ),
    ] = FailOn.SLOWER,
    markdown: Annotated[
        Path | None,
        typer.Option(
            parser=given_path, metavar="FILE", help="Also write it in Markdown, for a pull request."
        ),
    ] = None,
    json: Annotated[
        Path | None,
        typer.Option(parser=given_path, metavar="FILE", help="Also write a row for each case as JSON."),
    ] = None,
) -> None:
    """Compare two runs of the same cases on one machine, or two revisions of the code.

    A case is slower, faster or the same, or ambiguous, and then it says what difference would be found.
    Exit status 1 where a case is slower by more than the threshold, or was right and is not any more.
    """
    from harness.results.output_folder import ensure_writable_file
    from harness.system.errors import InputError

    for file, option in ((markdown, "--markdown"), (json, "--json")):
        if file is not None:
            ensure_writable_file(file, option)
    margins = margins_of(threshold, minimum_effect)
    if revisions is not None:
        comparison = compared_in_turn(
            runs,
            revisions,
            margins,
            budget_s=budget,
            only=only or [],
            out=out,
            profile=profile,
            resume=resume,
        )
    elif resume or any(option is not None for option in (budget, only, profile)):
        options = "--budget, --only, --profile and --resume"
        raise InputError(f"{options}: found no --revisions, whose runs they are for")
    else:
        comparison = compared_folders(runs, margins)
    comparison = replace(comparison, fails_on_ambiguous=fail_on is FailOn.AMBIGUOUS)
    tell_comparison(comparison, markdown, json)

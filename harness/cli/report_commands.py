"""The commands on runs that are there: report, explain, archive and compare."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
from harness.cli.options import FigureFormat, Only, Out, Profile, given_path, path_option
from harness.cli.runs import note, open_page
from harness.results.default_out import DEFAULT_OUT
from harness.results.output_folder import ensure_writable_file, ensure_writable_folder
from harness.system.errors import InputError
from harness.system.printable import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.reporting.drawing import Drawn


@app.command(short_help="Write tables, figures and a page of one run or several.")
def report(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            parser=given_path,
            metavar="DIR...",
            help="Folders or archives of runs, or an experiment's folder: its newest run.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        path_option(
            "DIR", "Folder of the report; needed for several runs.  [default: report/ in the run's folder]"
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
            help="Setting of the --figure, such as style=bars, or names.VARIANT=NAME of the --table; "
            "KEY= gives it its default; may be repeated.",
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
    published_file: Annotated[
        Path | None, path_option("FILE", "Overlay published points of your own: a CSV file.")
    ] = None,
    published_only: Annotated[
        str | None,
        typer.Option(
            metavar="EXPERIMENT",
            help="Only draw what others published of this experiment's problems; needs no run.",
        ),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(
            metavar="'ROWS by COLUMNS'",
            help="Only print and write this table, such as 'variant by seq' or 'mask,variant by dtype,seq'.",
        ),
    ] = None,
    values: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="What the cells of the --table hold: gflops, tflops, time_us, time_ms, speedup, error, or a "
            "column of numbers; several with commas.  [default: throughput]",
        ),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(metavar="CONDITION", help="Rows of the --table, such as 'head_dim == 64'."),
    ] = None,
    by_row: Annotated[
        bool, typer.Option("--rows", help="Print a row for each case instead of a table for each panel.")
    ] = False,
    opens: Annotated[bool, typer.Option("--open", help="Open the report's page in the browser.")] = False,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Exit status 1 if a shard is missing, or a planned case has no row."),
    ] = False,
) -> None:
    """Write tables, figures and a page of one run or of several together, or draw figures differently."""
    from harness.experiment.experiment import named_experiment
    from harness.reporting.figures.base import USUAL_FORMATS
    from harness.reporting.report import draw_published, make_report, redraw, tabulate

    runs = folders or []
    _check_options(
        runs,
        out,
        {
            "--figure": figures,
            "--set": settings,
            "--table": table,
            "--values": values,
            "--where": where,
            "--published-only": published_only,
            "--open": opens,
            "--strict": strict,
        },
    )
    if out is not None:
        ensure_writable_folder(out)
    chosen = tuple(format.value for format in formats) if formats else USUAL_FORMATS
    overlaid = _overlaid(published, published_file)
    edited = None if experiment is None else named_experiment(experiment)
    if published_only is not None:
        plan, names = named_experiment(published_only), figures or ["throughput"]
        folder = out or DEFAULT_OUT / plan.name / "published"
        _tell_figures(draw_published(plan, names, settings or [], folder, chosen, overlaid=overlaid))
        return
    if table is not None:
        names = [name.strip() for name in (values or "").split(",") if name.strip()]
        assigned = [text for text in settings or [] if not figures or text.lstrip().startswith("names")]
        for path in tabulate(
            runs, table, names, where, out, labels=labels or [], experiment=edited, assignments=assigned
        ):
            typer.echo(printable(f"table: {path}"))
    if figures:
        drawn = redraw(
            runs,
            figures,
            settings or [],
            out,
            chosen,
            labels=labels or [],
            experiment=edited,
            overlaid=overlaid,
        )
        _tell_figures(drawn)
    if figures or table is not None:
        return
    paths = make_report(
        runs,
        out,
        chosen,
        labels=labels or [],
        experiment=edited,
        by_row=by_row,
        overlaid=overlaid,
    )
    note(paths.notes)
    typer.echo(printable(f"report: {paths.folder}"))
    if opens and paths.html is not None:
        note(open_page(paths.html))
    if strict and not paths.is_whole:
        raise typer.Exit(1)


NEEDS = {
    "--set": (("--figure", "--published-only", "--table"), "the figure that the settings are for"),
    "--values": (("--table",), "the table whose cells hold them"),
    "--where": (("--table",), "the table of these rows"),
}


def _check_options(folders: list[Path], out: Path | None, given: "Mapping[str, object]") -> None:
    """Refuse options that belong to others which are missing, or that exclude each other."""
    from harness.results.archive import is_archive

    for option, (owners, what) in NEEDS.items():
        if given[option] and not any(given[owner] for owner in owners):
            raise InputError(f"{option}: found no {owners[0]}, expected {what}")
    for option in ("--figure", "--table", "--published-only"):
        for own in ("--open", "--strict"):
            if given[option] and given[own]:
                raise InputError(f"{own}: found {option}, which makes no report; expected only one of both")
    if given["--published-only"] and (folders or given["--table"]):
        other = "a DIR" if folders else "--table"
        raise InputError(f"--published-only: found {other}, expected it alone: it is about no run")
    if out is None and any(is_archive(folder) for folder in folders):
        raise InputError("--out: found none, expected a folder: an archive has no place for a report")


def _overlaid(published: bool, file: Path | None) -> dict[str, object]:
    """Return the settings of figures that overlay published points; a table of them is read at once."""
    from harness.reporting.published.table import points_of_file

    if file is not None:
        points_of_file(file)
    own = {} if file is None else {"published_file": str(file)}
    return {**own, "published": True} if published else dict(own)


def _tell_figures(drawn: "Drawn") -> None:
    for path in (path for paths in drawn.files.values() for path in paths):
        typer.echo(printable(f"figure: {path}"))
    note(drawn.notes)
    if drawn.skipped:
        raise typer.Exit(1)


@app.command(short_help="Say which rows, run and command a figure comes from.")
def explain(
    figure: Annotated[
        Path, typer.Argument(metavar="FIGURE", help="File of a figure in a report: .png, .svg, .pdf or .dat.")
    ],
    results: Annotated[
        list[Path] | None,
        path_option("DIR", "Folder in which the run is looked for; may be repeated.  [default: results]"),
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
        Path | None, path_option("FILE", "The file.  [default: EXPERIMENT-RUN.tar.gz, here]")
    ] = None,
) -> None:
    """Pack a run into one file: its rows, samples and manifest, from which reports are made again."""
    from harness.results.archive import SUFFIX, write_archive
    from harness.results.loading import open_run, taken_line

    run = open_run(folder)
    note(filter(None, [taken_line(folder, run)]))
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
            "difference of 1.3 % in nine of ten on a quiet machine, by the gate of 3 % a slowdown of 4.3 %; "
            "with one core busy 1.9 % and 5.0 %.",
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
        Path | None, path_option("FILE", "Also write it in Markdown, for a pull request.")
    ] = None,
    json: Annotated[Path | None, path_option("FILE", "Also write a row for each case as JSON.")] = None,
) -> None:
    """Compare two runs of the same cases on one machine, or two revisions of the code.

    A case is slower, faster or the same, or ambiguous, and then it says what difference would be found.
    Exit status 1 where a case is slower by more than the threshold, or was right and is not any more.
    """
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

"""The commands: each parses its arguments, calls the module that does the work, and prints.

Nothing but typer is imported until a command runs, so that `harness --help` answers at once.
"""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from harness.runner import RunSummary

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
)

DEFAULT_OUT = Path("results")


class Listed(StrEnum):
    """What `harness list` can list."""

    VARIANTS = "variants"
    TARGETS = "targets"
    EXPERIMENTS = "experiments"
    FIGURES = "figures"
    DISTRIBUTIONS = "distributions"
    CASES = "cases"


class FigureFormat(StrEnum):
    """File formats of figures."""

    PNG = "png"
    SVG = "svg"
    PDF = "pdf"


ExperimentName = Annotated[
    str,
    typer.Argument(
        metavar="EXPERIMENT", help="TOML file, or the bare name of one in experiments/.", show_default=False
    ),
]
Only = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE[,VALUE...]",
        help="Only these cases: variant=flash, target=cpu, seq=256,512, case=9f3c …; repeat to narrow down.",
    ),
]
Resume = Annotated[
    bool, typer.Option("--resume", help="Continue the latest run: do only what is missing or changed.")
]
Out = Annotated[Path, typer.Option(metavar="DIR", help="Folder of all results.")]
Jobs = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Builds at a time.  [default: one per core]")
]
Plain = Annotated[bool, typer.Option("--plain", help="Progress as plain lines, as without a terminal.")]


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Build attention through different code generators, check every result and time it."""
    if version:
        from importlib.metadata import version as installed_version

        typer.echo(f"attention-harness {installed_version('attention-harness')}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def run(
    experiment: ExperimentName,
    only: Only = None,
    resume: Resume = False,
    out: Out = DEFAULT_OUT,
    jobs: Jobs = None,
    plain: Plain = False,
) -> None:
    """Build, check and time an experiment's cases, then report."""
    summary = _execute(experiment, only or [], out, resume=resume, timed=True, jobs=jobs, plain=plain)
    _report(summary)


@app.command(short_help="The same without timing; exit status 1 if a case failed.")
def check(
    experiment: ExperimentName,
    only: Only = None,
    resume: Resume = False,
    out: Out = DEFAULT_OUT,
    jobs: Jobs = None,
    plain: Plain = False,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the outcome as JUnit XML.")
    ] = None,
) -> None:
    """Build and check an experiment's cases without timing; exit status 1 if one failed."""
    if junit is not None:
        from harness.folders import ensure_writable_folder

        ensure_writable_folder(junit.parent, "--junit")
    summary = _execute(experiment, only or [], out, resume=resume, timed=False, jobs=jobs, plain=plain)
    if junit is not None:
        from harness.reporting.junit import write_junit

        write_junit(summary.results, junit)
    _report(summary)
    if any(result.status.is_failure for result in summary.results):
        raise typer.Exit(1)


@app.command()
def report(
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Folders of runs, or of an experiment's runs.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of the report.  [default: report/ in the run's folder]"),
    ] = None,
    formats: Annotated[
        list[FigureFormat] | None, typer.Option("--format", help="File format of figures; may be repeated.")
    ] = None,
) -> None:
    """Write tables and figures of one run, or of several together."""
    from harness.folders import ensure_writable_folder
    from harness.reporting.report import print_tables, write_report

    if out is not None:
        ensure_writable_folder(out)
    paths = write_report(folders, out, formats=tuple(format.value for format in formats or FigureFormat))
    print_tables(folders)
    typer.echo(f"report: {paths.folder}")


@app.command("list", short_help="List variants, targets, experiments, cases …")
def list_names(
    what: Annotated[Listed, typer.Argument(help="What to list.")],
    experiment: Annotated[
        str | None, typer.Argument(metavar="[EXPERIMENT]", help="Whose cases to list.")
    ] = None,
) -> None:
    """List variants, targets, experiments, figures, distributions, or the cases of an experiment."""
    from harness import listing
    from harness.errors import InputError

    if what is Listed.CASES:
        if experiment is None:
            raise InputError("list cases: expected an experiment, harness list cases EXPERIMENT")
        entries = listing.cases(experiment)
    else:
        entries = listing.LISTS[what]()
    width = max((len(entry.name) for entry in entries), default=0)
    for entry in entries:
        typer.echo(f"{entry.name:<{width}}  {entry.summary}")


@app.command(short_help="Show what works here, and what to install for the rest.")
def doctor() -> None:
    """Show what is installed, what can be built and run here, and what to install for the rest."""
    from harness.doctor import diagnose, is_healthy, print_findings

    findings = diagnose()
    print_findings(findings)
    if not is_healthy(findings):
        raise typer.Exit(1)


def _execute(
    name: str, only: list[str], out: Path, *, resume: bool, timed: bool, jobs: int | None, plain: bool
) -> "RunSummary":
    """Run an experiment's cases, all input checked before the first one starts."""
    from harness.cores import available_cores
    from harness.experiment import load_experiment
    from harness.folders import ensure_writable_folder
    from harness.listing import find_experiment

    experiment = load_experiment(find_experiment(name))
    cases = experiment.cases(only)
    ensure_writable_folder(out)

    from harness.progress import make_observer
    from harness.runner import run_experiment

    return run_experiment(
        experiment,
        cases,
        out=out,
        resume=resume,
        timed=timed and experiment.timing.enabled,
        jobs=jobs or available_cores(),
        observer=make_observer(plain),
        command=sys.argv,
    )


def _report(summary: "RunSummary") -> None:
    """Write a run's report and print its tables, failures with their rerun commands among them."""
    from harness.reporting.report import print_tables, write_report

    paths = write_report([summary.folder], None, formats=tuple(format.value for format in FigureFormat))
    print_tables([summary.folder])
    typer.echo(f"report: {paths.folder}")

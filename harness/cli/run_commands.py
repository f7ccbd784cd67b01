"""The commands that build, check and time: each parses its arguments and calls what does the work."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.app import app
from harness.cli.options import ExperimentName, Jobs, Only, Plain, Profile, given_path
from harness.cli.run_options import RunOptions, with_run_options
from harness.cli.runs import executed, not_timed, note, planned, report_run
from harness.plurals import counted
from harness.printable import printable

if TYPE_CHECKING:
    from harness.cli.runs import Plan
    from harness.experiment.experiment import Experiment
    from harness.running.runner import RunSummary


@app.command()
@with_run_options
def run(options: RunOptions) -> None:
    """Build, check and time an experiment's cases, then report."""
    _, summary = executed(options, timed=True)
    report_run(summary)
    note(not_timed(summary.results))


@app.command(short_help="Build without running, for another machine with --bundle.")
def build(
    experiment: ExperimentName,
    bundle: Annotated[
        Path | None,
        typer.Option(
            parser=given_path,
            metavar="DIR",
            help="New folder for what was built, which 'harness run --bundle DIR' takes on another machine.",
        ),
    ] = None,
    profile: Profile = None,
    only: Only = None,
    jobs: Jobs = None,
    plain: Plain = False,
) -> None:
    """Build an experiment's cases without running them; exit status 1 if one failed to build."""
    from harness.machine.cores import available_cores
    from harness.results.manifest import of_experiment
    from harness.running import bundle as bundles
    from harness.running.build_only import BuildRun
    from harness.running.bundle_readme import README_FILE, run_line, write_readme
    from harness.running.progress import make_observer

    plan = planned(experiment, None, only or [], profile=profile)
    if bundle is not None:
        bundles.require_room(bundle)
    manifest = of_experiment(plan.experiment, plan.cases, sys.argv)
    built = BuildRun(plan.experiment, make_observer(plain), jobs or available_cores()).run(plan.cases)
    done = sum(case.failure is None for case in built)
    typer.echo(f"{done} of {counted(len(built), 'case')} built")
    if bundle is not None:
        written = bundles.write_bundle(bundle, manifest, built)
        typer.echo(printable(f"bundle: {bundle}"))
        write_readme(written)
        typer.echo(f"digest: {written.digest}")
        there = printable(f"next, on the other machine, as {bundle / README_FILE} says")
        typer.echo(f"{there}: {run_line(written, written.digest)}")
    if any(case.row.status.is_failure for case in built):
        raise typer.Exit(1)


@app.command(short_help="Build and check without timing; exit status 1 if a case failed.")
@with_run_options
def check(
    options: RunOptions,
    junit: Annotated[
        Path | None,
        typer.Option(parser=given_path, metavar="FILE", help="Also write the outcome as JUnit XML."),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Exit status 1 also if a case was not checked, whatever the reason."),
    ] = False,
) -> None:
    """Build and check an experiment's cases without timing; exit status 1 if one failed."""
    from harness.status import checked_line

    plan, summary = executed(options, timed=False, junit=junit)
    if junit is not None:
        from harness.reporting.junit import write_junit

        write_junit(summary.results, junit)
    report_run(summary)
    statuses = [result.status for result in summary.results]
    lost = _no_longer_supported(plan.experiment, summary)
    for line in lost:
        typer.echo(printable(line))
    typer.echo(_inputs_line(plan))
    typer.echo(checked_line(statuses))
    if lost or any(status.is_failure or (strict and not status.is_checked) for status in statuses):
        raise typer.Exit(1)


def _inputs_line(plan: "Plan") -> str:
    """Return which inputs cases were checked with, and how to check with others where none were chosen."""
    settings = plan.experiment.check
    names = dict.fromkeys(
        name for case in plan.cases for name in plan.experiment.check_of(case).distributions
    )
    line = f"inputs: {', '.join(names)}"
    if (*names,) != type(settings)().distributions:
        return line
    return (
        f"{line}; others show other mistakes: set [check] distributions to names that "
        "'harness list distributions' lists"
    )


def _no_longer_supported(experiment: "Experiment", summary: "RunSummary") -> list[str]:
    """Return a line for each case that is unsupported, of variants that the experiment expects to be not."""
    from harness.reporting.outcomes import broken_promise

    told = [(result, broken_promise(result, experiment.check.supported)) for result in summary.results]
    return [
        f"{result.variant} · {result.target} · case {result.case}: {promise}"
        for result, promise in told
        if promise is not None
    ]

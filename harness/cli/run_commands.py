"""The commands that build, check and time: each parses its arguments and calls what does the work."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.app import app
from harness.cli.options import ExperimentName, Jobs, Only, Params, Plain, Profile, Shard, path_option
from harness.cli.run_options import RunOptions, with_run_options
from harness.cli.runs import executed, not_timed, note, planned, report_run, write_junit_of
from harness.system.errors import InputError
from harness.system.plurals import counted
from harness.system.printable import printable
from harness.system.status import Status, checked_line

if TYPE_CHECKING:
    from harness.bench.running.bundle import Bundle
    from harness.bench.running.offline_packages import OfflineMachine
    from harness.bench.running.runner import RunSummary
    from harness.cli.runs import Plan
    from harness.experiment.experiment import Experiment


@app.command()
@with_run_options
def run(
    options: RunOptions,
    counters: Annotated[
        bool,
        typer.Option(
            "--counters",
            help="Also read hardware counters of each timed case, by its vendor's profiler (NVIDIA's: ncu).",
        ),
    ] = False,
) -> None:
    """Build, check and time an experiment's cases, then report."""
    _, summary = executed(options, timed=True, counters=counters)
    report_run(summary)
    note(not_timed(summary.results))


@app.command(short_help="Build without running, for another machine with --bundle.")
def build(
    experiment: ExperimentName,
    bundle: Annotated[
        Path | None,
        path_option(
            "DIR", "New folder for what was built, which 'harness run --bundle DIR' takes on another machine."
        ),
    ] = None,
    offline: Annotated[
        str | None,
        typer.Option(
            metavar="PYTHON",
            help="With --bundle: also all that a machine without a network needs to run it by this Python, "
            "such as python3.12.",
        ),
    ] = None,
    provided: Annotated[
        Path | None,
        path_option(
            "FILE", "With --offline: what 'pip freeze' prints on that machine; nothing of it is packed."
        ),
    ] = None,
    profile: Profile = None,
    only: Only = None,
    params: Params = None,
    shard: Shard = None,
    jobs: Jobs = None,
    plain: Plain = False,
) -> None:
    """Build an experiment's cases without running them; exit status 1 if one failed to build."""
    from harness.bench.running import bundle as bundles
    from harness.bench.running.build_only import build_only
    from harness.bench.running.progress import make_observer
    from harness.results.manifest import of_experiment
    from harness.system.machine.cores import available_cores

    machine = _offline_machine(bundle, offline, provided)
    plan = planned(experiment, None, only or [], profile, shard, params)
    if bundle is not None:
        bundles.require_room(bundle)
    manifest = of_experiment(plan.experiment, plan.cases, sys.argv, shard=shard)
    built = build_only(plan.experiment, plan.cases, make_observer(plain), jobs or available_cores())
    statuses = [row.status for _, row in built]
    done = statuses.count(Status.BUILT)
    typer.echo(f"{done} of {counted(len(built), 'case')} built")
    if bundle is not None:
        _finish_bundle(bundles.write_bundle(bundle, manifest, built), machine)
    if any(status.is_failure for status in statuses):
        raise typer.Exit(1)


def _offline_machine(
    bundle: Path | None, offline: str | None, provided: Path | None
) -> "OfflineMachine | None":
    if offline is None:
        if provided is not None:
            raise InputError("--provided: found no --offline; expected the Python of that machine")
        return None
    if bundle is None:
        raise InputError("--offline: found no --bundle; expected a folder for what that machine gets")
    from harness.bench.running.offline import offline_machine

    return offline_machine(offline, provided)


def _finish_bundle(bundle: "Bundle", machine: "OfflineMachine | None") -> None:
    """Add what its machine needs besides, and say what was written and what is next."""
    from harness.bench.running.bundle_readme import README_FILE, run_line, write_readme
    from harness.bench.running.offline import make_offline, pack

    if machine is not None:
        make_offline(bundle, machine)
    write_readme(bundle)
    typer.echo(printable(f"bundle: {bundle.folder}"))
    if machine is not None:
        typer.echo(printable(f"packed: {pack(bundle)}"))
    there = printable(f"next, on the other machine, as {bundle.folder / README_FILE} says")
    typer.echo(f"{there}: {run_line(bundle)}")


@app.command(short_help="Build and check without timing; exit status 1 if a case failed.")
@with_run_options
def check(
    options: RunOptions,
    junit: Annotated[Path | None, path_option("FILE", "Also write the outcome as JUnit XML.")] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Exit status 1 also if a case was not checked, whatever the reason."),
    ] = False,
) -> None:
    """Build and check an experiment's cases without timing; exit status 1 if one failed."""
    plan, summary = executed(options, timed=False, junit=junit, is_strict=strict)
    if junit is not None:
        write_junit_of(plan, summary.results, junit, strict)
    report_run(summary)
    statuses = [result.status for result in summary.results]
    lost = _no_longer_supported(plan.experiment, summary)
    for line in lost:
        typer.echo(printable(line))
    typer.echo(_inputs_line(plan))
    typer.echo(checked_line(statuses) + (f" ({len(lost)} against check.supported)" if lost else ""))
    if lost or any(status.is_failure or (strict and not status.is_checked) for status in statuses):
        raise typer.Exit(1)


def _inputs_line(plan: "Plan") -> str:
    names = dict.fromkeys(
        name for case in plan.cases for name in plan.experiment.check_of(case).distributions
    )
    return f"inputs: {', '.join(names)} (of 'harness list distributions')"


def _no_longer_supported(experiment: "Experiment", summary: "RunSummary") -> list[str]:
    """Return a line for each case that is unsupported, of variants that the experiment expects to be not."""
    from harness.reporting.outcomes import broken_promise

    supported = experiment.check.supported
    return [
        f"{result.variant} · {result.target} · case {result.case}: {promise}"
        for result in summary.results
        if (promise := broken_promise(result, supported)) is not None
    ]

"""From the options of a command to a run, and from a run to its report."""

import contextlib
import importlib
import sys
import threading
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from harness.cli.run_options import RunOptions
from harness.results.output_folder import ensure_writable_file, ensure_writable_folder
from harness.system.errors import InputError, RunInterrupted, StoppedError
from harness.system.plurals import counted
from harness.system.printable import printable
from harness.system.status import Status
from harness.system.storage.streams import tell

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.bench.running.bundle import Bundle
    from harness.bench.running.runner import RunSummary
    from harness.experiment.experiment import Experiment
    from harness.problem.case import Case
    from harness.results.result import Result


@dataclass(frozen=True)
class Plan:
    """The cases that a command is for."""

    experiment: "Experiment"
    cases: "list[Case]"
    bundle: "Bundle | None" = None


def planned(
    name: str | None,
    folder: Path | None,
    only: list[str],
    profile: str | None = None,
    shard: str | None = None,
    params: str | None = None,
) -> Plan:
    """Read an experiment or a bundle, and check all of it before the first case starts."""
    plan = _whole_plan(name, folder, only, profile, params)
    note(_without_winner(plan))
    if shard is None:
        return plan
    from harness.experiment.sharding import cases_of_shard

    cases = cases_of_shard(shard, plan.cases)
    note([f"shard {shard} of {plan.experiment.name}: {len(cases)} of {counted(len(plan.cases), 'case')}"])
    return replace(plan, cases=cases)


def _whole_plan(
    name: str | None, folder: Path | None, only: list[str], profile: str | None, params: str | None
) -> Plan:
    if (name is None) == (folder is None):
        sources_given = "neither" if name is None else "both"
        raise InputError(f"found {sources_given}, expected either an EXPERIMENT or --bundle DIR")
    if profile is not None and folder is not None:
        raise InputError("--profile: found --bundle, too; a bundle has the profile that it was built with")
    if params is not None and folder is not None:
        raise InputError("--params: found --bundle, too; a bundle has the parameters that it was built with")
    if folder is not None:
        from harness.bench.running.bundle import open_bundle

        bundle = open_bundle(folder)
        note(bundle.other_code)
        return Plan(bundle.experiment(), bundle.cases(only), bundle)

    from harness.experiment.experiment import named_experiment, with_params

    experiment = with_params(named_experiment(name or "", profile), params, "--params")
    return Plan(experiment, experiment.cases(only))


def _without_winner(plan: Plan) -> list[str]:
    """Return a line that says how many cases were to be tuned, and are not."""
    if plan.bundle is not None or not (missing := plan.experiment.without_winner):
        return []
    words = " ".join(["harness", "tune", *plan.experiment.command_words])
    return [
        f"no tuned parameters on this machine for {counted(len(missing), 'case')}, such as "
        f"{missing[0].describe()}: they have their own; '{words}' searches"
    ]


def executed(
    options: RunOptions,
    *,
    timed: bool,
    junit: Path | None = None,
    is_strict: bool = False,
    counters: bool = False,
) -> "tuple[Plan, RunSummary]":
    """Run the cases that a command is for."""
    from harness.bench.running.counting import require_counters
    from harness.bench.running.progress import make_observer
    from harness.bench.running.runner import run_experiment
    from harness.bench.running.time_spent import seconds_of_this_process
    from harness.system.machine.cores import available_cores

    plan = planned(
        options.experiment,
        options.bundle,
        options.only or [],
        options.profile,
        options.shard,
        options.params,
    )
    if plan.experiment.profile is not None:
        cases = counted(len(plan.cases), "case")
        note([f"profile {plan.experiment.profile} of {plan.experiment.name}: {cases}"])
    if counters:
        require_counters(plan.cases)
    note(crowded(plan.cases, available_cores()))
    ensure_writable_folder(options.out)
    if options.dump is not None:
        ensure_writable_folder(options.dump, "--dump")
    if junit is not None:
        ensure_writable_file(junit, "--junit")
    try:
        import_drawing_ahead()
        summary = run_experiment(
            plan.experiment,
            plan.cases,
            out=options.out,
            resume=options.resume,
            timed=timed and plan.experiment.timing.enabled,
            jobs=options.jobs or available_cores(),
            observer=make_observer(options.plain, has_report=True),
            command=sys.argv,
            bundle=plan.bundle,
            dump=options.dump,
            counters=counters,
            start_up_s=seconds_of_this_process(),
            shard=options.shard,
        )
    except RunInterrupted as interruption:
        if junit is not None:
            write_junit_of(plan, interruption.rows, junit, is_strict)
        # typer keeps nothing of a KeyboardInterrupt but its exit status
        raise StoppedError(str(interruption)) from interruption
    return plan, summary


def write_junit_of(plan: Plan, rows: "Iterable[Result]", file: Path, is_strict: bool) -> None:
    """Write what became of the cases of a plan as JUnit XML, by the names that pytest gives them."""
    from harness.reporting.junit import write_junit
    from harness.reporting.outcomes import Demands, item_file, item_name

    experiment = plan.experiment
    source = (experiment.path or Path(experiment.name)).absolute()
    names = {case.id: item_name(case) for case in plan.cases}
    demands = Demands(experiment.check.supported, is_strict)
    write_junit(rows, file, item_file(source, Path.cwd()), names, demands)


def crowded(cases: "Iterable[Case]", cores: int) -> list[str]:
    """Return a line that says that cases have more threads than there are cores, if some have."""
    threads = max((int(case.target_options.get("threads", 1)) for case in cases), default=1)
    if threads <= cores:
        return []
    return [f"threads = {threads} is more than the cores that this process may use, {cores}: they take turns"]


def not_timed(results: "Iterable[Result]") -> list[str]:
    """Return a line for each target, and what stood in for its device, where a device would be timed."""
    from harness import plugins
    from harness.artifact.artifact import EMULATING

    emulated = Counter(
        (result.target, result.executor) for result in results if result.status is Status.EMULATED
    )
    lines = []
    for (target, executor), count in emulated.items():
        reason = plugins.target(target).why_no_device(plugins.chip_of(target))
        cases = f"{counted(count, 'case')} executed by {EMULATING.get(executor, executor)}"
        lines.append(f"{target}: {'; '.join(filter(None, [reason, cases]))}, which measures no time")
    return lines


def import_drawing_ahead() -> None:
    """Import what draws a report in a thread of its own, while workers start, build and check."""

    def import_all() -> None:
        with contextlib.suppress(Exception):  # who draws says it
            importlib.import_module("matplotlib.backends.backend_svg")
            importlib.import_module("harness.reporting.html.page").compile_templates()

    threading.Thread(target=import_all, name="imports", daemon=True).start()


def report_run(summary: "RunSummary") -> None:
    """Write a run's report, print its tables, failures with their commands too, and where the time went."""
    from harness.reporting.report import make_report

    with summary.spent.spent_on("report"):
        paths = make_report([summary.folder])
    note(paths.notes)
    typer.echo(printable(f"report: {paths.folder}"))
    note([summary.end()])


def open_page(page: Path) -> list[str]:
    """Open a page in the browser; return a line that says so where there is none."""
    import webbrowser

    if webbrowser.open(page.resolve().as_uri()):
        return []
    return [f"no browser found here; open {page} in one, on any machine: it needs no other file"]


def note(lines: "Iterable[str]") -> None:
    """Tell on standard error what a person should know."""
    for line in lines:
        tell(f"harness: {printable(line)}")

"""The commands: each parses its arguments, calls the module that does the work, and prints.

Nothing but typer is imported until a command runs, so that `harness --help` answers at once.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.options import (
    DEFAULT_OUT,
    ExperimentName,
    FigureFormat,
    Jobs,
    Listed,
    Only,
    Out,
    Plain,
    Profile,
)
from harness.cli.problem_options import ProblemCommand
from harness.cli.run_options import RunOptions, with_run_options
from harness.cli.runs import executed, not_timed, note, open_page, planned, report_run
from harness.printable import printable
from harness.storage.streams import tell

if TYPE_CHECKING:
    from harness.experiment.experiment import Experiment
    from harness.running.runner import RunSummary

app = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)

FOR_SCHEDULES = frozenset({"variant", "stage", "diff", "counts", "settings"})
"""Parameters of `harness ir` that named schedules have, too."""


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", "-V", help="Show the version and exit.")] = False,
) -> None:
    """Build attention through different code generators, check every result and time it."""
    if version:
        from importlib.metadata import version as installed_version

        typer.echo(f"attention-harness {installed_version('attention-harness')}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


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
    from harness.running.progress import make_observer

    plan = planned(experiment, None, only or [], profile=profile)
    if bundle is not None:
        bundles.require_room(bundle)
    manifest = of_experiment(plan.experiment, plan.cases, sys.argv)
    built = BuildRun(plan.experiment, make_observer(plain), jobs or available_cores()).run(plan.cases)
    done = sum(case.failure is None for case in built)
    typer.echo(f"{done} of {len(built)} cases built")
    if bundle is not None:
        written = bundles.write_bundle(bundle, manifest, built)
        typer.echo(printable(f"bundle: {bundle}"))
        typer.echo(f"digest: {written.digest}")
    if any(case.row.status.is_failure for case in built):
        raise typer.Exit(1)


@app.command(short_help="Build and check without timing; exit status 1 if a case failed.")
@with_run_options
def check(
    options: RunOptions,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the outcome as JUnit XML.")
    ] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Exit status 1 also if a case was not checked, whatever the reason."),
    ] = False,
) -> None:
    """Build and check an experiment's cases without timing; exit status 1 if one failed."""
    from harness.status import checked_line

    if junit is not None:
        from harness.results.output_folder import ensure_writable_file

        ensure_writable_file(junit, "--junit")
    plan, summary = executed(options, timed=False)
    if junit is not None:
        from harness.reporting.junit import write_junit

        write_junit(summary.results, junit)
    report_run(summary)
    statuses = [result.status for result in summary.results]
    lost = _no_longer_supported(plan.experiment, summary)
    for line in lost:
        typer.echo(printable(line))
    typer.echo(checked_line(statuses))
    if lost or any(status.is_failure or (strict and not status.is_checked) for status in statuses):
        raise typer.Exit(1)


def _no_longer_supported(experiment: "Experiment", summary: "RunSummary") -> list[str]:
    """Return a line for each case that is unsupported, of variants that the experiment expects to be not."""
    from harness.reporting.outcomes import broken_promise

    told = [(result, broken_promise(result, experiment.check.supported)) for result in summary.results]
    return [
        f"{result.variant} · {result.target} · case {result.case}: {promise}"
        for result, promise in told
        if promise is not None
    ]


@app.command(short_help="Write tables, figures and a page of one run or several.")
def report(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...", help="Folders or archives of runs, or an experiment's folder: its newest run."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of the report; needed for several runs.  [default: report/ in the run's folder]",
        ),
    ] = None,
    formats: Annotated[
        list[FigureFormat] | None, typer.Option("--format", help="File format of figures; may be repeated.")
    ] = None,
    figures: Annotated[
        list[str] | None,
        typer.Option("--figure", metavar="NAME", help="Only draw this figure again; may be repeated."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Setting of the --figure, such as style=bars; may be repeated."
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
    from harness.errors import InputError
    from harness.experiment.experiment import load_experiment
    from harness.experiment.shipped import find_experiment
    from harness.reporting.report import make_report, redraw
    from harness.results.archive import is_archive
    from harness.results.output_folder import ensure_writable_folder

    if settings and not figures:
        raise InputError("--set: found no --figure, expected the figure that the settings are for")
    if opens and figures:
        raise InputError("--open: found --figure, which writes no page; expected only one of both")
    if out is None and any(is_archive(folder) for folder in folders):
        raise InputError("--out: found none, expected a folder: an archive has no place for a report")
    if out is not None:
        ensure_writable_folder(out)
    chosen = tuple(format.value for format in formats or FigureFormat)
    edited = None if experiment is None else load_experiment(find_experiment(experiment))
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
        Path, typer.Argument(metavar="FIGURE", help="File of a report: .png, .svg, .pdf, .tex or .dat.")
    ],
    results: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR", help="Folder in which the run is looked for; may be repeated.  [default: results]"
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
        Path | None, typer.Option(metavar="FILE", help="The file.  [default: EXPERIMENT-RUN.tar.gz, here]")
    ] = None,
) -> None:
    """Pack a run into one file: its rows, samples and manifest, from which reports are made again."""
    from harness.errors import InputError
    from harness.results.archive import SUFFIX, write_archive
    from harness.results.run_folder import open_run

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
    pairs: Annotated[
        int | None, typer.Option(metavar="N", help="Runs of each revision; 6 if not given.")
    ] = None,
    only: Only = None,
    out: Out = DEFAULT_OUT,
    threshold: Annotated[
        str, typer.Option(metavar="SHARE", help="Smallest difference of times that matters, as 3% or 0.03.")
    ] = "3%",
    markdown: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write it in Markdown, for a pull request.")
    ] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write it in the format of pytest-benchmark.")
    ] = None,
) -> None:
    """Compare two runs of the same cases on one machine, or two revisions of the code.

    Exit status 1 where a case is slower by more than the threshold, or was right and is not any more.
    """
    from harness.cli.compare import Wanted, compare_folders, compare_in_turn

    wanted = Wanted(threshold, markdown, json)
    if revisions is None:
        compare_folders(runs, wanted, is_run=pairs is not None or only is not None)
    else:
        compare_in_turn(runs, revisions, wanted, pairs=pairs, only=only or [], out=out)


@app.command(cls=ProblemCommand, short_help="Show the IR after each stage of a build.")
def ir(
    context: typer.Context,
    variant: Annotated[
        str,
        typer.Argument(
            help="A variant, or a schedule of 'harness list schedules' (schedule:NAME), which takes only "
            "--stage, --diff, --counts and --set.",
            metavar="VARIANT",
        ),
    ],
    target: Annotated[str, typer.Option(help="What for, see 'harness list targets'.")] = "cpu",
    stage: Annotated[
        str | None, typer.Option(help="Print this stage's IR instead of a table of all stages.")
    ] = None,
    diff: Annotated[bool, typer.Option("--diff", help="How --stage differs from the stage before.")] = False,
    counts: Annotated[
        bool,
        typer.Option(
            "--counts", help="What one call executes and moves; with --stage also how often operations occur."
        ),
    ] = False,
    bounds: Annotated[
        bool,
        typer.Option(
            "--bounds",
            help="What bounds the machine code's main loop in a model, instruction by instruction.",
        ),
    ] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Parameter of the variant, option of the target, or size of the schedule; repeatable.",
        ),
    ] = None,
) -> None:
    """Build one problem, or take it from the cache, and show the IR after each stage.

    Of a named schedule, show the IR after each step, on a small problem and without a build.
    """
    from harness.api import build
    from harness.ir_view.bounds import bounds_text
    from harness.ir_view.request import problem_of, settings_of
    from harness.ir_view.show import show
    from harness.ir_view.subject import build_subject, is_schedule, schedule_hint, schedule_subject

    if is_schedule(variant):
        subject = schedule_subject(variant, settings or [], [*_given(context, FOR_SCHEDULES), *context.obj])
        show(subject, stage=stage, diff=diff, counts=counts)
        return
    params, target_options = settings_of(settings or [], variant, target)
    problem = problem_of(context.obj)
    with schedule_hint(variant):
        built = build(problem, variant=variant, target=target, params=params, **target_options)
    if bounds:
        typer.echo(bounds_text(built, other_options=bool(stage or diff or counts)))
        return
    show(build_subject(built), stage=stage, diff=diff, counts=counts)


@app.command(short_help="Show which lane holds what of a matrix instruction's operands.")
def layout(
    instruction: Annotated[
        str | None,
        typer.Argument(help="A matrix instruction; without one they are listed.", show_default=False),
    ] = None,
    operand: Annotated[
        str | None, typer.Argument(help="A, B or C; all three if not given.", show_default=False)
    ] = None,
    registers: Annotated[
        bool, typer.Option("--registers", help="Show the register, too: lane:register.")
    ] = False,
    figure: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the tables: .png, .svg or .pdf.")
    ] = None,
) -> None:
    """Show the high-dimensional layout of a matrix instruction's operands, as formulas and as a table."""
    from harness.errors import InputError
    from harness.layouts.show import show_instructions, show_layout

    if instruction is None:
        if registers or figure is not None:
            raise InputError("--registers, --figure: expected a matrix instruction whose tables they change")
        typer.echo(show_instructions())
    else:
        typer.echo(show_layout(instruction, operand, registers=registers, figure=figure))


@app.command("list", short_help="List variants, targets, stages, schedules, experiments, cases …")
def list_names(
    what: Annotated[Listed, typer.Argument(help="What to list.")],
    experiment: Annotated[
        str | None, typer.Argument(metavar="[EXPERIMENT]", help="Whose cases to list.")
    ] = None,
    profile: Profile = None,
) -> None:
    """List what there is to choose from, or the cases of an experiment.

    Variants, targets, the stages of their builds, the named schedules that 'harness ir' shows, experiments,
    figures, or input distributions.
    """
    from harness.cli import listing
    from harness.errors import InputError
    from harness.experiment.shipped import NO_EXPERIMENTS

    if what is Listed.CASES:
        if experiment is None:
            raise InputError("list cases: expected an experiment, harness list cases EXPERIMENT")
        entries = listing.cases(experiment, profile)
    elif profile is not None:
        raise InputError(f"--profile: found {profile!r}, expected none: it is for 'list cases EXPERIMENT'")
    elif experiment is not None:
        raise InputError(f"list {what.value}: found {experiment!r}, expected nothing more")
    else:
        entries = listing.LISTS[what]()
        if what is Listed.EXPERIMENTS and not entries:
            tell(f"harness: {NO_EXPERIMENTS}")
    width = max((len(entry.name) for entry in entries), default=0)
    for entry in entries:
        typer.echo(printable(f"{entry.name:<{width}}  {entry.summary}".rstrip()))


@app.command(short_help="Show which forms of attention each variant has for each target.")
def support(
    variant: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this variant, also a baseline; may be repeated."),
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this target, with or without a chip; may be repeated."),
    ] = None,
    is_checked: Annotated[
        bool, typer.Option("--check", help="Build and check each; exit status 1 if one failed.")
    ] = False,
    out: Out = DEFAULT_OUT,
    jobs: Jobs = None,
    plain: Plain = False,
) -> None:
    """Show which forms of attention each variant has for each target, and the reason where it has not.

    Nothing is built.  Without options: the variants whose code this harness generates, on every chip.  With
    --check each form that a variant has is built, executed and compared with the oracle, by default on one
    chip of each target.
    """
    from harness import plugins
    from harness.building.support import all_chips, matrix, own_targets, own_variants
    from harness.cli.support import check_support, lines

    for name in variant or []:
        plugins.check_name("variant", name)
    for name in target or []:
        plugins.check_target(name)
    if is_checked:
        check_support(variant or own_variants(), target or own_targets(), out, jobs, plain=plain)
        return
    for line in lines(list(matrix(variant or own_variants(), target or all_chips()))):
        typer.echo(printable(line))


@app.command(short_help="Show what works here, and what to install for the rest.")
def doctor(
    noise: Annotated[
        bool,
        typer.Option(
            "--noise", help="Instead, measure the smallest difference that this machine can resolve."
        ),
    ] = False,
    seconds: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="How long --noise measures; 60 if not given.")
    ] = None,
    plain: Plain = False,
) -> None:
    """Show what is installed, what can be built and run here, and what to install for the rest."""
    if noise or seconds is not None:
        from harness.cli.noise import tell_noise

        tell_noise(noise, seconds, plain)
        return
    from harness.cli.doctor import diagnose, is_healthy, print_findings

    findings = diagnose()
    print_findings(findings)
    if not is_healthy(findings):
        raise typer.Exit(1)


def _given(context: typer.Context, passed_over: frozenset[str]) -> list[str]:
    """Return the names of parameters that the command line gives, whatever their value."""
    sources = {name: context.get_parameter_source(name) for name in context.params if name not in passed_over}
    return [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]

"""The commands that show what there is: IR, layouts, lists, what is supported, what works here."""

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.app import app
from harness.cli.options import Jobs, Listed, Out, Plain, Profile, path_option
from harness.cli.problem_options import ProblemCommand
from harness.results.default_out import DEFAULT_OUT
from harness.system.errors import HarnessError, InputError
from harness.system.printable import printable


@app.command(cls=ProblemCommand, short_help="Show the IR after each stage of a build.")
def ir(
    context: typer.Context,
    variant: Annotated[
        str,
        typer.Argument(
            help="A variant, or a schedule of 'harness list schedules' (schedule:NAME), which takes only "
            "--stage, --diff, --counts, --out and --set.",
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
    time: Annotated[
        bool,
        typer.Option(
            "--time", help="Run a build with stamps, and show the cycles of each part of its kernels."
        ),
    ] = False,
    out: Annotated[
        Path | None,
        path_option("FILE", "Write the output of --stage there, such as the bytes of the stage object."),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", min=1, help="How long the build may take.  [default: 600]", show_default=False
        ),
    ] = None,
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

    Of a build that fails, show the stages that it reached; the exit status is 1 then, and 2 where the variant
    or the target refuses the problem.  Of a named schedule, show the IR after each step, on a small problem
    and without a build.
    """
    import sys

    from harness.api import build
    from harness.ir_view.bounds import bounds_text
    from harness.ir_view.part_times import part_times_text
    from harness.ir_view.request import problem_of, settings_of
    from harness.ir_view.show import show
    from harness.ir_view.subject import build_subject, failed_subject, is_schedule, schedule_subject

    title = variant
    try:
        if is_schedule(variant):
            own = {"target": target != "cpu", "bounds": bounds, "time": time, "timeout": timeout is not None}
            others = [*(name for name, is_set in own.items() if is_set), *context.obj]
            subject = schedule_subject(variant, settings or [], others)
        else:
            params, options = settings_of(settings or [], variant, target)
            problem = problem_of(context.obj)
            title = f"{variant} · {target} · {problem.describe()}"
            built = build(
                problem, variant=variant, target=target, params=params, timeout_s=timeout, **options
            )
            if bounds:
                typer.echo(bounds_text(built, other_options=bool(stage or diff or counts or out)))
                return
            if time:
                others_set = bool(stage or diff or counts or out)
                typer.echo(part_times_text(built, other_options=others_set))
                return
            subject = build_subject(built)
    except HarnessError as error:
        reached = failed_subject(title, error)
        names = [output.name for output in reached.stages]
        if names and not (bounds or time) and (stage is None or stage in names):
            show(reached, stage=stage, diff=diff, counts=counts, out=out)
            sys.stdout.flush()
        raise
    show(subject, stage=stage, diff=diff, counts=counts, out=out)


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
    figure: Annotated[Path | None, path_option("FILE", "Draw the tables: .png, .svg or .pdf.")] = None,
) -> None:
    """Show the high-dimensional layout of a matrix instruction's operands, as formulas and as a table."""
    from harness.codegen.layouts.show import show_instructions, show_layout

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

    if what is Listed.CASES:
        if experiment is None:
            raise InputError("list cases: expected an experiment, harness list cases EXPERIMENT")
        entries = listing.cases(experiment, profile)
    elif profile is not None:
        raise InputError(f"--profile: found {profile!r}, expected none: it is for 'list cases EXPERIMENT'")
    elif experiment is not None:
        raise InputError(f"list {what.value}: found {experiment!r}, expected nothing more")
    else:
        entries = list(listing.LISTS[what]())
    width = max((len(name) for name, _ in entries), default=0)
    for name, summary in entries:
        typer.echo(printable(f"{name:<{width}}  {summary}".rstrip()))


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
    from harness.bench.building.support import all_chips, matrix, own_targets, own_variants
    from harness.cli.support import check_support, lines

    for name in variant or []:
        plugins.check_name("variant", name)
    for name in target or []:
        plugins.check_target(name)
    variants = variant or own_variants()
    if is_checked:
        answers = matrix(variants, target or own_targets(), are_asked_for=bool(variant))
        check_support(list(answers), out, jobs, plain=plain)
        return
    for line in lines(list(matrix(variants, target or all_chips(), are_asked_for=bool(variant)))):
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

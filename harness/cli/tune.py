"""`harness tune`: searches for the parameters with which variants are fastest here."""

import re
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.app import app
from harness.cli.options import ExperimentName, Jobs, Only, Out, Profile
from harness.cli.runs import note, planned
from harness.results.default_out import DEFAULT_OUT
from harness.system.errors import InputError, RunInterrupted, StoppedError
from harness.system.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from harness.bench.tuning.found import Found
    from harness.bench.tuning.tuning_run import Tuned
    from harness.problem.case import Case, ParameterValue
    from harness.results.result import Result

UNITS_S = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
DEFAULT_BUDGET = "2m"


@app.command(short_help="Search for the parameters with which variants are fastest here.")
def tune(
    experiment: ExperimentName,
    profile: Profile = None,
    only: Only = None,
    budget: Annotated[
        str, typer.Option(metavar="TIME", help="How long each search may take, 90s, 5m or 1h.")
    ] = DEFAULT_BUDGET,
    trials: Annotated[
        int, typer.Option(metavar="N", min=1, help="Candidates that a search builds at most.")
    ] = 200,
    begin: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="KEY=VALUE[,KEY=VALUE...]",
            help="Begin there, and not with the default: tile_q=16,tile_kv=16.",
        ),
    ] = None,
    model: Annotated[
        bool,
        typer.Option("--model", help="Compare by the model of the main loop: where nothing gives times."),
    ] = False,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of what is drawn at random.")] = 0,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the newest such run: what it has tried counts.")
    ] = False,
    out: Out = DEFAULT_OUT,
    jobs: Jobs = None,
) -> None:
    """Search for the parameters with which variants are fastest, for each class of an experiment's problems.

    Candidates are built, checked, and timed in turns with the default.  The fastest takes its place where the
    interval of their ratio is beyond 1.  What is found stays on this machine, for 'harness run --params
    tuned'.
    """
    from harness.bench.running.progress import PlainObserver
    from harness.bench.tuning.found import SearchSettings
    from harness.bench.tuning.tuning_run import tune_experiment
    from harness.results.output_folder import ensure_writable_folder
    from harness.system.machine.cores import available_cores
    from harness.system.storage.streams import Unfailing

    class Observer(PlainObserver):
        """Says what a search says, and nothing of single cases: a trial's line has it."""

        def planned(self, total: int) -> None:
            """Say nothing."""

        def finished(self, case: "Case", result: "Result") -> None:
            """Say nothing."""

        def kept(self, case: "Case", result: "Result") -> None:
            """Say nothing."""

        def slow(self, text: str) -> None:
            """Say nothing."""

        def done(self) -> None:
            """Say nothing."""

    settings = SearchSettings(
        budget_s=seconds_of(budget),
        most_trials=trials,
        seed=seed,
        by_model=model,
        begin_at=_settings(begin or ""),
    )
    plan = planned(experiment, None, only or [], profile)
    ensure_writable_folder(out)
    try:
        tuned = tune_experiment(
            plan.experiment,
            plan.cases,
            settings,
            out=out,
            resume=resume,
            observer=Observer(Unfailing(sys.stderr)),  # type: ignore[arg-type]
            command=sys.argv,
            jobs=jobs or available_cores(),
        )
    except RunInterrupted as interruption:
        raise StoppedError(str(interruption)) from interruption
    report_tuned(tuned)


def seconds_of(text: str) -> float:
    """Return a duration such as `90`, `90s`, `5m` or `1.5h` in seconds; raises `InputError`."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|)", text.strip())
    if match is None or float(match[1]) <= 0:
        raise InputError(f"--budget: found {text!r}, expected a time such as 90s, 5m or 1h")
    return float(match[1]) * UNITS_S[match[2]]


def _settings(text: str) -> "dict[str, ParameterValue]":
    from harness.ir_view.request import parameter_value

    settings = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = pair.partition("=")
        if not equals:
            raise InputError(f"--from {pair}: expected KEY=VALUE")
        settings[name.strip()] = parameter_value(value.strip())
    return settings


def report_tuned(tuned: "Tuned") -> None:
    """Print what was found, a table, and where the run and its figure lie."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, title_justify="left", header_style="")
    for column in ("problem", "default", "best", "speed-up", "trials"):
        table.add_column(column, overflow="fold")
    for found in tuned.found:
        table.add_row(*map(printable, row_of(found)))
    width = None if sys.stdout.isatty() else 160
    if tuned.found:
        Console(width=width, markup=False, emoji=False).print(table)
    for case, reason in tuned.without_search:
        typer.echo(printable(f"{case.describe()}: {reason}"))
    note(_figure_lines(tuned.folder))
    typer.echo(printable(f"run: {tuned.folder}"))
    if not tuned.found:
        raise typer.Exit(1)


def row_of(found: "Found") -> tuple[str, str, str, str, str]:
    """Return the cells of a search: problem, default, best, speed-up over the default, counts of trials."""
    from harness.bench.tuning.trials import Fate, changed, gain_in_words, settings_in_words

    names = {setting: found.default_settings.get(setting) for setting in (found.point or found.start_point)}
    gain = gain_in_words(found.gain, by_model=found.by_model)
    if found.winner is None:
        gain = f"the default wins; best other {gain}" if found.gain is not None else "the default wins"
    elif not found.is_checked:
        gain += ", not checked here"
    counts = found.counts
    built = counts[Fate.MEASURED] + counts[Fate.WRONG] + counts[Fate.SAME] + counts[Fate.FAILED]
    parts = [f"{built} built", f"{counts[Fate.REFUSED]} refused", f"{counts[Fate.WRONG]} wrong"]
    parts += [f"{counts[Fate.FAILED]} failed"] if counts[Fate.FAILED] else []
    default = found.default
    return (
        f"{default.variant} · {default.target} · {default.problem.describe()}",
        settings_in_words(names),
        "default" if found.winner is None else settings_in_words(changed(found.point, names)),
        gain,
        f"{', '.join(parts)}; {found.why}",
    )


def _figure_lines(folder: "Path") -> "Iterator[str]":
    from harness.bench.tuning.tuning_run import FIGURE
    from harness.reporting.report import redraw

    drawn = redraw([folder], [FIGURE])
    yield from drawn.notes
    for files in drawn.files.values():
        yield f"figure: {', '.join(map(str, files))}"

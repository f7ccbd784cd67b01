"""A run that tunes: a search for each problem of an experiment, its rows in a run's folder, winners kept.

The run's experiment is `<name>.tune`, so that no run of the experiment itself is taken for it.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import plugins
from harness.artifact.code_digests import code_digest
from harness.bench.running.context import RunSettings
from harness.bench.running.forecast import is_emulated
from harness.bench.running.progress import Observer
from harness.bench.running.runner import started_run
from harness.bench.tuning.found import Found, SearchSettings
from harness.bench.tuning.planning import Planning
from harness.bench.tuning.sampler import require_optuna
from harness.bench.tuning.search import Search
from harness.bench.tuning.space import SearchSpace, spaces_of
from harness.bench.workers.process import WorkerFailure
from harness.experiment.case_settings import Settings
from harness.experiment.experiment import Experiment
from harness.experiment.searched import own_source
from harness.experiment.winners import Place, Winner, class_of, fixed_settings, keep_winners
from harness.problem.case import Case
from harness.results.manifest import timestamp
from harness.system.errors import InputError, UnsupportedError
from harness.system.plurals import about, counted
from harness.targets.executors import wanted_executor

SUFFIX = ".tune"
"""Behind an experiment's name: the name of the folder of its searches."""
FIGURE = "tuning"


@dataclass(frozen=True)
class Tuned:
    """What a run that tunes leaves behind."""

    folder: Path
    found: tuple[Found, ...]
    without_search: tuple[tuple[Case, str], ...]
    """The cases that no search could begin with, and why."""


def tune_experiment(
    experiment: Experiment,
    cases: Sequence[Case],
    settings: SearchSettings,
    *,
    out: Path,
    resume: bool,
    observer: Observer,
    command: Sequence[str],
    jobs: int = 1,
    cache_root: Path | None = None,
) -> Tuned:
    """Search for each problem, variant and target of some cases, and keep the winners on this machine.

    Of problems of one class the largest is searched.  With `resume` the newest run of such searches goes on:
    what it has tried counts.  Raises `InputError` where optuna is missing, or nothing here gives times and no
    model is asked for, and what `run_experiment` raises.
    """
    require_optuna()
    spaces = _one_of_each_class(spaces_of(cases, by_model=settings.by_model), observer)
    if not settings.by_model:
        _require_times(spaces)
    tuning = _tuning(experiment)
    run_settings = RunSettings(not settings.by_model, jobs, cache_root, is_search=True)
    defaults = [space.default for space in spaces]
    found: list[Found] = []
    without: list[tuple[Case, str]] = []
    longest = about(len(spaces) * settings.budget_s)
    observer.message(f"{counted(len(spaces), 'search')}, of {settings.budget_s:g} s at most: {longest}")
    with (
        started_run(tuning, defaults, run_settings, out, resume, observer, command, defaults) as context,
        Planning(experiment.limits.build_timeout_s) as planning,
    ):
        for number, space in enumerate(spaces, 1):
            observer.message(f"search {number} of {len(spaces)}: {space.default.describe()}")
            checked = tuning.changed(check=experiment.check_of(space.default))
            try:
                one = Search(context, space, planning, settings, checked).run()
            except (UnsupportedError, WorkerFailure) as error:
                without.append((space.default, str(error)))
                observer.message(f"{space.default.describe()}: {error}")
                continue
            finally:
                context.expectations.delete()
            found.append(one)
            if own_source(space.default) == "default":
                keep_winners([_winner(one, context.folder.run)])
            else:
                observer.message("not kept for later runs: the experiment sets some parameters itself")
    return Tuned(context.folder.path, tuple(found), tuple(without))


def _tuning(experiment: Experiment) -> Experiment:
    """Return the experiment that a run's folder has: its text asks for the figure of searches, too."""
    text = experiment.text
    if not re.search(rf"\b{FIGURE}\b", text) and experiment.path is not None:
        text = f"{text.rstrip()}\n\n[figures.{FIGURE}]\n"
    return experiment.changed(text=text, name=f"{experiment.name}{SUFFIX}")


def _one_of_each_class(spaces: Iterable[SearchSpace], observer: Observer) -> list[SearchSpace]:
    """Return the space of the largest problem of each class, and say which others they are for."""
    by_place: dict[Place, list[SearchSpace]] = {}
    for space in spaces:
        by_place.setdefault(Place.of(space.default), []).append(space)
    chosen = []
    for of_class in by_place.values():
        largest = max(of_class, key=lambda space: space.default.problem.flops())
        chosen.append(largest)
        if others := [space.default.problem.describe() for space in of_class if space is not largest]:
            names = ", ".join(others)
            observer.message(f"{largest.default.describe()} stands for its class, also for {names}")
    return chosen


def _require_times(spaces: Iterable[SearchSpace]) -> None:
    """Raise `InputError` with a line for each target that nothing here gives times for."""
    reasons = {}
    for space in spaces:
        case = space.default
        if is_emulated(case):
            why = plugins.target(case.target).why_no_device(plugins.chip_of(case.target))
            what = why or f"executor={wanted_executor(case)}"
            reasons[case.target] = f"{case.target}: {what}: no times; --model searches by the model"
    if reasons:
        raise InputError(*reasons.values())


def _winner(found: Found, run: str) -> Winner:
    """Return what is kept of a search, the default where it wins."""
    place, gain = Place.of(found.default), found.gain
    is_default = found.winner is None or gain is None
    winner = found.default if is_default or found.winner is None else found.winner
    chosen = {
        "params": _added(found.default.params, winner.params),
        "target_options": _added(found.default.target_options, winner.target_options),
    }
    has_interval = gain is not None and gain.is_bounded and not found.by_model and not is_default
    return Winner(
        device=place.device,
        variant=place.variant,
        target=place.target,
        fixed=fixed_settings(found.default),
        problem_class=class_of(found.default.problem),
        objective="model" if found.by_model else "time",
        speedup=1.0 if is_default or gain is None else gain.value,
        speedup_low=gain.low if has_interval and gain else None,
        speedup_high=gain.high if has_interval and gain else None,
        trials=sum(found.counts.values()),
        problem=found.default.problem.describe(),
        run=run,
        found=timestamp(),
        code_digest=code_digest(),
        **chosen,
    )


def _added(default: Settings, winner: Settings) -> Settings:
    """Return the settings of a winner that the default leaves open."""
    return {name: value for name, value in winner.items() if name not in default}

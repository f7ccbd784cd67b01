"""What there is to choose from: the lists behind `harness list`, names and summaries."""

from collections.abc import Callable, Iterable, Iterator

from harness import plugins
from harness.experiment.shipped import experiment_files, question
from harness.system.errors import HarnessError

Entry = tuple[str, str]
"""A name and a summary of one line."""


def _plugins(kind: str) -> Iterator[Entry]:
    """Yield the plugins of a kind, targets with their chips; one that cannot be imported says why."""
    for name in plugins.names(kind):
        try:
            with plugins.asked(kind, name, "its summary"):
                yield name, str(plugins.load(kind, name).summary)
            chips = plugins.chips(name) if kind == "target" else {}
            yield from ((f"{name}:{chip}", text) for chip, text in chips.items())
        except HarnessError as error:
            yield name, str(error)


def stages() -> Iterator[Entry]:
    """Yield the stages of each variant, of each target and of each schedule, in order."""
    from harness.ir_view.named_schedules.registry import SCHEDULES
    from harness.variants.schedule import PAYLOAD

    for kind in ("variant", "target"):
        for name in plugins.names(kind):
            try:
                with plugins.asked(kind, name, "its stages"):
                    owner = plugins.load(kind, name)
                    yield from _stages(name, getattr(owner, "stages", ()))
                    for option, route in getattr(owner, "other_routes", {}).items():
                        yield from _stages(f"{name} {option}", route)
            except HarnessError as error:
                yield name, str(error)
    for name, schedule in SCHEDULES.items():
        yield from _stages(f"schedule:{name}", (PAYLOAD, *schedule.steps()))


def _stages(owner: str, declared: Iterable[object]) -> Iterator[Entry]:
    """Yield stages that are declared by their names, or with a `name` and a `summary`."""
    for stage in declared:
        yield f"{owner} {getattr(stage, 'name', stage)}", str(getattr(stage, "summary", ""))


def schedules() -> Iterator[Entry]:
    """Yield the known forms of tiled attention that `harness ir` shows step by step."""
    from harness.ir_view.named_schedules.registry import SCHEDULES

    for name, schedule in SCHEDULES.items():
        yield name, schedule.summary + (" (wrong)" if schedule.why_wrong else "")


def distributions() -> Iterator[Entry]:
    """Yield the input distributions that a case can be checked with."""
    from harness.problem.distributions import DISTRIBUTIONS

    yield from ((name, distribution.summary) for name, distribution in DISTRIBUTIONS.items())


LISTS: dict[str, Callable[[], Iterator[Entry]]] = {
    "variants": lambda: _plugins("variant"),
    "targets": lambda: _plugins("target"),
    "stages": stages,
    "schedules": schedules,
    "experiments": lambda: ((path.stem, question(path)) for path in experiment_files()),
    "figures": lambda: _plugins("figure"),
    "distributions": distributions,
}


def cases(experiment: str, profile: str | None = None) -> list[Entry]:
    """Return the ids and descriptions of the cases of an experiment, or of one of its profiles."""
    from harness.experiment.experiment import named_experiment

    return [(case.id, case.describe()) for case in named_experiment(experiment, profile).cases()]

"""What there is to choose from: the lists behind `harness list`."""

from collections.abc import Callable

from pydantic import BaseModel, ConfigDict

from harness import plugins
from harness.experiment.shipped import experiment_files, find_experiment, question
from harness.system.errors import HarnessError, PluginError


class Entry(BaseModel):
    """One line of a list."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    summary: str


def variants() -> list[Entry]:
    """Return the variants; one that cannot be imported says why."""
    return _plugins("variant")


def targets() -> list[Entry]:
    """Return the targets, with the chips that may follow a colon."""
    entries = []
    for entry in _plugins("target"):
        entries.append(entry)
        try:
            chips = plugins.chips(entry.name)
        except PluginError as error:
            if str(error) != entry.summary:  # the target's own line says why it cannot be loaded
                entries.append(Entry(name=entry.name, summary=str(error)))
            continue
        entries += [Entry(name=f"{entry.name}:{chip}", summary=text) for chip, text in chips.items()]
    return entries


def stages() -> list[Entry]:
    """Return the stages of each variant, of each target and of each schedule, in order.

    Those that an option leads to follow the others of their owner, with the option.
    """
    from harness.ir_view.named_schedules.registry import SCHEDULES
    from harness.variants.schedule import PAYLOAD

    entries = []
    for kind in ("variant", "target"):
        for name in plugins.names(kind):
            try:
                owner = plugins.load(kind, name)
            except HarnessError:
                continue
            try:
                with plugins.asked(kind, name, "its stages"):
                    owned = {name: getattr(owner, "stages", ())}
                    others = getattr(owner, "other_routes", {})
                    owned |= {f"{name} {option}": route for option, route in others.items()}
                    entries += [_stage(route, stage) for route, listed in owned.items() for stage in listed]
            except HarnessError as error:
                entries.append(Entry(name=name, summary=str(error)))
    for name, schedule in SCHEDULES.items():
        entries += [_stage(f"schedule:{name}", stage) for stage in (PAYLOAD, *schedule.steps)]
    return entries


def schedules() -> list[Entry]:
    """Return the known forms of tiled attention that `harness ir` shows step by step."""
    from harness.ir_view.named_schedules.registry import SCHEDULES

    return [
        Entry(name=name, summary=schedule.summary + (" (wrong)" if schedule.why_wrong else ""))
        for name, schedule in SCHEDULES.items()
    ]


def figures() -> list[Entry]:
    """Return the figures that a report can draw."""
    return _plugins("figure")


def distributions() -> list[Entry]:
    """Return the input distributions that a case can be checked with."""
    from harness.problem.distributions import DISTRIBUTIONS

    return [Entry(name=name, summary=distribution.summary) for name, distribution in DISTRIBUTIONS.items()]


def experiments() -> list[Entry]:
    """Return the experiments that have a bare name, and their questions."""
    return [Entry(name=path.stem, summary=question(path)) for path in experiment_files()]


LISTS: dict[str, Callable[[], list[Entry]]] = {
    "variants": variants,
    "targets": targets,
    "stages": stages,
    "schedules": schedules,
    "experiments": experiments,
    "figures": figures,
    "distributions": distributions,
}


def cases(experiment: str, profile: str | None = None) -> list[Entry]:
    """Return the ids and descriptions of the cases of an experiment, or of one of its profiles."""
    from harness.experiment.experiment import load_experiment

    loaded = load_experiment(find_experiment(experiment), profile)
    return [Entry(name=case.id, summary=case.describe()) for case in loaded.cases()]


def _plugins(kind: str) -> list[Entry]:
    entries = []
    for name in plugins.names(kind):
        try:
            with plugins.asked(kind, name, "its summary"):
                summary = str(plugins.load(kind, name).summary)
        except HarnessError as error:
            summary = str(error)
        entries.append(Entry(name=name, summary=summary))
    return entries


def _stage(owner: str, stage: object) -> Entry:
    """Return the entry of a stage that is declared by its name, or with a `name` and a `summary`."""
    return Entry(name=f"{owner} {getattr(stage, 'name', stage)}", summary=str(getattr(stage, "summary", "")))

"""What is wrong with an experiment's file: values, and names that mean nothing, all of them at once."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from harness import plugins
from harness.experiment.figure_settings import parse_settings
from harness.experiment.settings import ProblemTable
from harness.problem.distributions import DISTRIBUTIONS
from harness.system.errors import HarnessError, InputError
from harness.system.validation import FrozenModel, messages, plain_entries, suggestion, unknown_name

if TYPE_CHECKING:
    from harness.experiment.experiment import Experiment

Model = TypeVar("Model", bound=FrozenModel)
Place = tuple[int | str, ...]
"""Where a mistake is, key by key."""

HARMLESS_PROBLEM = {"seq": 1, "heads": 1, "head_dim": 1}
"""Stands for a table of problems with a mistake."""
OF_TABLES = ("variant", "target", "check", "timing")
"""What such a table has besides, which is looked at all the same."""
MOST_LOOKS = 4


def read_what_is_right(
    model: type[Model], data: Mapping[str, Any]
) -> tuple[Model | None, set[str], list[str]]:
    """Return an experiment without what is wrong with it, so that the rest can be looked at.

    None where nothing is left.  With it come the keys of the tables whose problems do not count then, and a
    line for each mistake.
    """
    untold, lines = set[str](), list[str]()
    for look in range(MOST_LOOKS):
        try:
            return model.model_validate(plain_entries(data), strict=True), untold, lines
        except ValidationError as error:
            places = [detail["loc"] for detail in error.errors(include_url=False)]
            if look == 0 or () in places:  # others may come from what was left out
                lines += messages(error, model=model)
            data = _without(data, places, untold)
        except ValueError as error:
            return None, untold, [*lines, str(error)]
    return None, untold, lines


def _without(data: Mapping[str, Any], places: Sequence[Place], untold: set[str]) -> dict[str, Any]:
    """Return data without the entries at these places; notes which tables of problems are replaced."""
    instead: dict[str, Any] = {"name": "experiment", "question": "?"}
    instead |= {f"{kind}s": plugins.names(kind) for kind in ("variant", "target")}
    kept = copy.deepcopy(dict(data))
    for place in places:
        first, *rest = place or ("problem",)
        key = str(first)
        if key == "problem":
            kept[key] = _harmless(kept.get(key), rest)
            untold.add(key)
        elif key == "problems" and rest:
            kept[key][rest[0]] = _harmless(kept[key][rest[0]], rest[1:])
            untold.add(f"problems[{rest[0]}]")
        elif rest and isinstance(kept.get(key), dict):
            kept[key].pop(rest[0], None)
        else:
            kept.pop(key, None)
        if key in instead:
            kept[key] = instead[key]
    if () in places:
        kept.pop("covering", None)
    return kept


def _harmless(table: Any, wrong: Sequence[int | str]) -> dict[str, Any]:
    """Return a problem with what a wrong table has for it, but for the part that is wrong."""
    own = table if isinstance(table, dict) else {}
    return HARMLESS_PROBLEM | {key: own[key] for key in OF_TABLES if key in own and key not in wrong[:1]}


def known_names(experiment: "Experiment") -> dict[str, tuple[str, ...]]:
    """Return those of the variants and targets of an experiment that there are."""
    known = {name: plugins.names(name) for name in ("variant", "target")}
    return {
        "variants": tuple(name for name in experiment.variants if name in known["variant"]),
        "targets": tuple(name for name in experiment.targets if plugins.name_of(name) in known["target"]),
    }


def wrong_names(experiment: "Experiment") -> Iterator[str]:
    """Yield a message for each name that means nothing: variants, targets, chips, distributions, figures."""
    variants = experiment.variants
    for variant in variants:
        if variant not in plugins.names("variant"):
            yield f"variants: {plugins.unknown('variant', variant)}"
    for target in experiment.targets:
        try:
            plugins.check_target(target)
        except HarnessError as error:
            yield f"targets: {error}"
    compared = () if experiment.baseline is None else (experiment.baseline,)
    for key, names in (("baseline", compared), ("check.supported", experiment.check.supported)):
        for name in names:
            if name not in variants:
                yield f"{key}: {unknown_name('variant', name, variants)}"
    yield from _wrong_in_table(experiment, experiment, "")
    for key, table in experiment.tables().items():
        yield from _wrong_in_table(experiment, table, f"{key}.")
    for figure, settings in experiment.figures.items():
        yield from _wrong_figure_settings(figure, settings, variants)


def _wrong_in_table(
    experiment: "Experiment", table: "Experiment | ProblemTable", prefix: str
) -> Iterator[str]:
    """Yield a message for settings of a variant or target that takes no part, and for distributions."""
    targets = dict.fromkeys(plugins.name_of(target) for target in experiment.targets)
    for kind, settings, listed in (
        ("variant", table.variant, experiment.variants),
        ("target", table.target, targets),
    ):
        for name in settings:
            if name not in listed:
                hint = suggestion(name, listed)
                expected = f"expected one of {', '.join(listed)}"
                yield f"{prefix}{kind}.{name}: '{kind}s' does not list it{hint}; {expected}"
    for name in table.check.distributions or ():
        if name not in DISTRIBUTIONS:
            yield f"{prefix}check.distributions: {unknown_name('distribution', name, DISTRIBUTIONS)}"


def _wrong_figure_settings(figure: str, settings: Any, variants: Sequence[str]) -> Iterator[str]:
    if figure not in plugins.names("figure"):
        yield f"figures.{figure}: {plugins.unknown('figure', figure)}"
        return
    try:
        parse_settings(plugins.load("figure", figure), settings, variants)
    except InputError as error:
        yield from error.lines
    except HarnessError as error:
        yield str(error)

"""Names in an experiment's file that mean nothing: variants, targets, chips, distributions, figures."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from harness import plugins
from harness.experiment.figure_settings import parse_settings
from harness.experiment.problem_table import ProblemTable
from harness.problem.distributions import DISTRIBUTIONS
from harness.system.errors import HarnessError, InputError
from harness.system.validation import unknown_name

if TYPE_CHECKING:
    from harness.experiment.experiment import Experiment


def wrong_names(experiment: "Experiment") -> Iterator[str]:
    """Yield a message for each name that means nothing: variants, targets, chips, distributions, figures."""
    for variant in experiment.variants:
        if variant not in plugins.names("variant"):
            yield f"variants: {plugins.unknown('variant', variant)}"
    for target in experiment.targets:
        yield from _wrong_target(target)
    if experiment.baseline is not None and experiment.baseline not in experiment.variants:
        yield f"baseline: {unknown_name('variant', experiment.baseline, experiment.variants)}"
    yield from _not_listed(experiment, experiment, "")
    for key, table in experiment.tables().items():
        yield from _not_listed(experiment, table, f"{key}.")
    for variant in experiment.check.supported:
        if variant not in experiment.variants:
            yield f"check.supported: {unknown_name('variant', variant, experiment.variants)}"
    yield from _unknown_distributions(experiment.check.distributions, "")
    for key, table in experiment.tables().items():
        yield from _unknown_distributions(table.check.distributions or (), f"{key}.")
    for figure in experiment.figures:
        if figure not in plugins.names("figure"):
            yield f"figures.{figure}: {plugins.unknown('figure', figure)}"
        else:
            yield from _wrong_figure_settings(figure, experiment.figures[figure], experiment.variants)


def _unknown_distributions(names: Sequence[str], prefix: str) -> Iterator[str]:
    for name in names:
        if name not in DISTRIBUTIONS:
            yield f"{prefix}check.distributions: {unknown_name('distribution', name, DISTRIBUTIONS)}"


def _not_listed(experiment: "Experiment", owner: "Experiment | ProblemTable", prefix: str) -> Iterator[str]:
    """Yield a message for each variant or target that has settings and does not take part."""
    for name in owner.variant:
        if name not in experiment.variants:
            listed = ", ".join(experiment.variants)
            yield f"{prefix}variant.{name}: 'variants' does not list it; expected one of {listed}"
    target_names = dict.fromkeys(plugins.name_of(target) for target in experiment.targets)
    for name in owner.target:
        if name not in target_names:
            listed = ", ".join(target_names)
            yield f"{prefix}target.{name}: 'targets' does not list it; expected one of {listed}"


def _wrong_figure_settings(figure: str, settings: Any, variants: Sequence[str]) -> Iterator[str]:
    """Yield a message for each setting that a figure does not take."""
    try:
        parse_settings(plugins.load("figure", figure), settings, variants)
    except InputError as error:
        yield from error.lines
    except HarnessError as error:
        yield str(error)


def _wrong_target(target: str) -> Iterator[str]:
    """Yield a message if a target, or the chip after its colon, is unknown."""
    try:
        plugins.check_target(target)
    except HarnessError as error:
        yield f"targets: {error}"

"""Names in an experiment's file that mean nothing, all of them at once."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from harness import plugins
from harness.experiment.figure_settings import parse_settings
from harness.experiment.settings import ProblemTable
from harness.problem.distributions import DISTRIBUTIONS
from harness.system.errors import HarnessError, InputError
from harness.system.validation import suggestion, unknown_name

if TYPE_CHECKING:
    from harness.experiment.experiment import Experiment


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

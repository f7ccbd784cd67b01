"""Which settings of variants and targets a search may choose, and from which values.

Each field says it itself: `tile_q: Annotated[int | None, Searched((16, 32, 64))] = None`.  A search leaves
all others as an experiment has them: they change what is asked, such as threads, or what is rounded.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from harness.experiment.case_settings import settings_model
from harness.plugins import name_of
from harness.problem.case import Case, ParameterValue
from harness.system.errors import HarnessError

ParamsSource = Literal["default", "given", "tuned", "tuned-by-model"]
"""Where the searched settings of a case come from: all are left open, some are set, or a search has found
them by time, or by a model."""


@dataclass(frozen=True)
class Searched:
    """Marks a field that a search may choose; its default, None, leaves the choice to variant and target."""

    values: Sequence[ParameterValue] | None = None
    """What it is chosen from; None: all values of its `Literal`."""
    is_modelled: bool = True
    """Whether a model of the main loop sees what it changes: not what happens before, after or beside it."""


def tile_sizes(least: int, most: int) -> tuple[int, ...]:
    """Return powers of two and halfway between them, 16, 24, 32, 48 …, up to the largest."""
    sizes = {size for power in range(most.bit_length()) for size in (2**power, 3 * 2**power)}
    return tuple(sorted(size for size in sizes if least <= size <= most))


def searched_values(kind: str, name: str, *, by_model: bool = False) -> dict[str, tuple[ParameterValue, ...]]:
    """Return the values to choose from of each searched setting of a variant or a target, by its name.

    A search `by_model` leaves out what the model does not see.
    """
    found: dict[str, tuple[ParameterValue, ...]] = {}
    for field, info in settings_model(kind, name).model_fields.items():
        for mark in info.metadata:
            if isinstance(mark, Searched) and (mark.is_modelled or not by_model):
                found[field] = tuple(mark.values or _literals(info.annotation))
    return found


def own_source(case: Case) -> ParamsSource:
    """Return whether a case leaves open all that a search may choose, or some of it is given."""
    for kind, name, settings in owners(case):
        with suppress(HarnessError):  # a plugin that cannot be loaded leaves a row that says so
            if settings.keys() & searched_values(kind, name):
                return "given"
    return "default"


def owners(case: Case) -> tuple[tuple[str, str, dict[str, ParameterValue]], ...]:
    """Return kind and name of what a case's settings belong to, with these settings."""
    return (
        ("variant", case.variant, case.params),
        ("target", name_of(case.target), case.target_options),
    )


def _literals(annotation: Any) -> tuple[ParameterValue, ...]:
    """Return the values of a `Literal`, also of one among alternatives."""
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    return tuple(value for part in get_args(annotation) for value in _literals(part))

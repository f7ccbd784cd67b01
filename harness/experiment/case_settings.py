"""Settings that nobody gave: the concrete defaults of variants and targets, as part of a case.

A case says what it means: `threads` left out and `threads = 1` are one case where 1 is the default.  A
default of None means "chosen when it is built" and stays out of the case.
"""

import math
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from harness import plugins
from harness.errors import InputError, PluginError
from harness.experiment.settings_models import code_of, made_of
from harness.machine.cores import available_cores
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case, ParameterValue
from harness.problem.defaults import LARGEST_SIZE
from harness.validation import messages, shown, validated

Settings = dict[str, ParameterValue]
"""Values of a variant's parameters, or of a target's options, by name."""

ALL_CORES = "all"

OPEN = "none"
"""What stands, in a list of values, for a setting that is left open."""


def settings_model(kind: str, name: str) -> type[BaseModel]:
    """Return the model of a variant's parameters or a target's options.

    Raises `InputError` for a plugin that is unknown, `PluginError` for one that cannot be loaded or is of
    another kind.
    """
    model: type[BaseModel] = getattr(plugins.load(kind, name), plugins.SETTINGS[kind])
    return model


def concrete(settings: BaseModel) -> Settings:
    """Return the values of fields that a case can hold; `threads = "all"` as the number of cores here.

    What a model computes of its fields is no setting.  Raises `PluginError` for a value that a case cannot
    hold, such as a list: left out, it would be another case than the one that is asked for.
    """
    model = type(settings)
    with code_of(model):
        values = settings.model_dump(mode="json", include=set(model.model_fields))
    kept = {name: value for name, value in values.items() if value is not None}
    for name, value in kept.items():
        if not isinstance(value, ParameterValue):
            raise PluginError(
                f"{model.__name__}.{name}: found {shown(value)}, expected a number, a truth value or a text: "
                "a case holds nothing else"
            )
        if isinstance(value, float) and not math.isfinite(value):
            raise PluginError(f"{model.__name__}.{name}: found {shown(value)}, expected a finite number")
    if kept.get("threads") == ALL_CORES:
        kept["threads"] = available_cores()
    return kept


def checked(
    kind: str, name: str, values: Mapping[str, Any], owner: str, extra_keys: tuple[str, ...] = ()
) -> Any:
    """Return the model of a plugin's settings made of these values.

    This is the only way from what somebody wrote, in a file, on the command line or in Python.  Raises
    `InputError`, a line for each setting that is wrong, which begins with `owner`, and for a plugin
    what `settings_model` raises.
    """
    model = settings_model(kind, name)
    try:
        settings = made_of(model, lambda: validated(model, _without_open(values, model)))
        _require_number_of_threads(kind, settings)
        _require_finite(values, settings)
    except ValidationError as error:
        raise InputError(*(owner + line for line in messages(error, model, "", extra_keys))) from error
    except ValueError as error:
        raise InputError(f"{owner}{error}") from error
    return settings


def _require_number_of_threads(kind: str, settings: BaseModel) -> None:
    """Raise `ValueError` for a target's option `threads` that is none: rows and whole runs count with it."""
    threads = getattr(settings, "threads", None) if kind == "target" else None
    if threads is None or threads == ALL_CORES:
        return
    if not isinstance(threads, int) or isinstance(threads, bool) or not 1 <= threads <= LARGEST_SIZE:
        expected = f'a whole number from 1 to {LARGEST_SIZE}, or "all"'
        raise ValueError(f"threads: found {shown(threads)}, expected {expected}")


def _require_finite(values: Mapping[str, Any], settings: BaseModel) -> None:
    """Raise `ValueError` for a number among what is set that is infinite or none: no case can hold it."""
    for name in values:
        found = getattr(settings, name, None)
        if isinstance(found, float) and not math.isfinite(found):
            raise ValueError(f"{name}: found {shown(found)}, expected a finite number")


def _without_open(values: Mapping[str, Any], model: type[BaseModel]) -> dict[str, Any]:
    """Return what is set: `"none"` leaves open a setting that can be left open."""
    fields = model.model_fields
    return {
        name: value
        for name, value in values.items()
        if not (value == OPEN and name in fields and fields[name].default is None)
    }


def asked_for(kind: str, name: str, values: Mapping[str, ParameterValue]) -> Settings:
    """Return those of a case's settings that are not the defaults: what somebody chose.

    Raises what `settings_model` raises.
    """
    # without validation, since settings that have no default are not known here
    model = settings_model(kind, name)
    defaults = concrete(made_of(model, model.model_construct))
    return {key: value for key, value in values.items() if key not in defaults or value != defaults[key]}


def complete_case(
    problem: AttentionProblem,
    variant: str,
    target: str,
    params: Mapping[str, Any],
    target_options: Mapping[str, Any],
) -> Case:
    """Return the case of these settings and, for what is not set, the defaults.

    Raises `InputError` for a name that nothing has and for a setting that is wrong, `PluginError` for a
    plugin that cannot be loaded.
    """
    plugins.check_name("variant", variant)
    plugins.check_target(target)
    return Case(
        problem=problem,
        variant=variant,
        target=target,
        params=_completed("variant", variant, params),
        target_options=_completed("target", plugins.name_of(target), target_options),
    )


def _completed(kind: str, name: str, values: Mapping[str, Any]) -> Settings:
    return concrete(checked(kind, name, values, f"{kind} {name!r}: "))

"""Settings that nobody gave: the concrete defaults of variants and targets, as part of a case.

A case says what it means: `threads` left out and `threads = 1` are one case where 1 is the default.  A
default of None means "chosen when it is built" and stays out of the case.
"""

import functools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from pydantic import BaseModel, FiniteFloat, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from harness import plugins
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case, ParameterValue
from harness.system.errors import HarnessError, InputError, PluginError, one_line
from harness.system.machine.cores import available_cores
from harness.system.validation import messages, validated

Settings = dict[str, ParameterValue]
"""Values of a variant's parameters, or of a target's options, by name."""

SETTINGS: TypeAdapter[Settings] = TypeAdapter(dict[str, bool | int | FiniteFloat | str])

ALL_CORES = "all"

SIMPLE = (bool, int, float, str)
"""Types of what is checked once and remembered."""

KNOWN_SETTINGS = 256

OPEN = "none"
"""What stands, in a list of values, for a setting that is left open."""


def settings_model(kind: str, name: str) -> type[BaseModel]:
    """Return the model of a variant's parameters or a target's options; raises `InputError` for no plugin."""
    model: type[BaseModel] = getattr(plugins.load(kind, name), plugins.SETTINGS[kind])
    return model


def concrete(settings: BaseModel) -> Settings:
    """Return the values of fields that a case can hold; `threads = "all"` as the number of cores here.

    What a model computes of its fields is no setting.  Raises `PluginError` for a value that a case cannot
    hold, such as a list: left out, it would be another case than the one that is asked for.
    """
    return _with_cores(_values_of(settings))


def _with_cores(settings: Settings) -> Settings:
    is_all = settings.get("threads") == ALL_CORES
    return {**settings, "threads": available_cores()} if is_all else dict(settings)


def _values_of(settings: BaseModel) -> Settings:
    model = type(settings)
    with code_of(model):
        values = settings.model_dump(mode="json", include=set(model.model_fields))
    try:
        return SETTINGS.validate_python({name: value for name, value in values.items() if value is not None})
    except ValidationError as error:
        raise PluginError(messages(error, model.__name__)[0]) from error


def checked(kind: str, name: str, values: Mapping[str, Any], owner: str) -> Any:
    """Return the model of a plugin's settings made of these values.

    This is the only way from what somebody wrote, in a file, on the command line or in Python.  Raises
    `InputError`, a line for each setting that is wrong, which begins with `owner`, and for a plugin
    what `settings_model` raises.
    """
    model = settings_model(kind, name)
    try:
        with code_of(model):
            return validated(model, _without_open(values, model))
    except ValidationError as error:
        raise InputError(*(owner + line for line in messages(error, model=model))) from error
    except ValueError as error:
        raise InputError(f"{owner}{error}") from error


@contextmanager
def code_of(model: type[BaseModel]) -> Iterator[None]:
    """Run a model's own code: `ValueError` alone is somebody's setting, all else raises `PluginError`."""
    try:
        yield
    except PydanticSerializationError as error:
        raise PluginError(f"{model.__name__} has a value that no case can hold: {one_line(error)}") from error
    except (ValueError, HarnessError):
        raise
    except Exception as error:
        raise PluginError(f"{model.__name__} cannot check its settings: {one_line(error)}") from error


def _without_open(values: Mapping[str, Any], model: type[BaseModel]) -> dict[str, Any]:
    """Return what is set: `"none"` leaves open a setting that can be left open."""
    fields = model.model_fields
    return {
        name: value
        for name, value in values.items()
        if not (value == OPEN and name in fields and fields[name].default is None)
    }


def complete_case(
    problem: AttentionProblem,
    variant: str,
    target: str,
    params: Mapping[str, Any],
    target_options: Mapping[str, Any],
) -> Case:
    """Return the case of these settings and the defaults; raises `InputError` for a setting that is wrong."""
    plugins.check_name("variant", variant)
    plugins.check_target(target)
    return Case.model_construct(  # of what is checked: a problem's own checks would run once more
        problem=problem,
        variant=variant,
        target=target,
        params=_completed("variant", variant, params),
        target_options=_completed("target", plugins.name_of(target), target_options),
    )


def _completed(kind: str, name: str, values: Mapping[str, Any]) -> Settings:
    asked = tuple(_Setting(key, type(value), value) for key, value in values.items())
    if not all(setting.kind in SIMPLE for setting in asked):
        return concrete(checked(kind, name, values, f"{kind} {name!r}: "))
    return _with_cores(_known(settings_model(kind, name), kind, name, asked))


class _Setting(NamedTuple):
    """A value that somebody has written, with its type: 1 and True are equal."""

    name: str
    kind: type
    value: Any


@functools.lru_cache(maxsize=KNOWN_SETTINGS)
def _known(model: type[BaseModel], kind: str, name: str, asked: tuple[_Setting, ...]) -> Settings:
    """Return the values of settings, checked once: the model stands for the plugin that it is of."""
    values = {setting.name: setting.value for setting in asked}
    return _values_of(checked(kind, name, values, f"{kind} {name!r}: "))

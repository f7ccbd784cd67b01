"""From the options of `harness ir` to what is to be built."""

from collections.abc import Mapping, Sequence
from typing import Any

from harness import plugins
from harness.experiment.case_settings import settings_model
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import OF_THE_TARGET, ParameterValue
from harness.problem.fields import UNLIMITED, ProblemField, problem_fields
from harness.system.errors import InputError
from harness.system.validation import shown, unknown_key

DEFAULTS: dict[str, Any] = {"heads": 2, "head_dim": 64}
DEFAULT_SEQ = 256


def problem_of(options: Mapping[str, Any]) -> AttentionProblem:
    """Return the problem that the options describe that were given, by field."""
    option_values = dict(options)
    seq = option_values.pop("seq", None)
    for name, value in option_values.items():
        if problem_fields()[name].kind is tuple:
            option_values[name] = numbers(value, problem_fields()[name])
    fields = {**DEFAULTS, **option_values}
    if seq is not None and seq <= 0:
        raise InputError(f"--seq: found {seq}, expected a positive integer")
    if seq is not None and "cu_seqlens_q" in option_values:
        raise InputError("--seq: --cu-seqlens-q and --cu-seqlens-kv already say how long the sequences are")
    if "cu_seqlens_q" not in option_values:
        fields.setdefault("seq_q", DEFAULT_SEQ if seq is None else seq)
        if seq is not None:
            fields.setdefault("seq_kv", seq)
    try:
        return AttentionProblem(**fields)
    except InputError as error:
        raise InputError(*map(_named_by_option, error.lines)) from error


def sizes_of(
    settings: Sequence[str], other_options: Sequence[str], schedule: str, size_names: Sequence[str]
) -> dict[str, int]:
    """Return a schedule's sizes out of a list of `SIZE=NUMBER`; raises `InputError` for `other_options`."""
    expected = f"a schedule takes only --set SIZE=NUMBER; sizes of {schedule}: {', '.join(size_names)}"
    if other_options:
        raise InputError(f"{', '.join(map(_option, other_options))}: {expected}")
    sizes = {}
    for key, value in _pairs(settings, "SIZE=NUMBER").items():
        if key not in size_names:
            raise InputError(f"--set {key}={value}: unknown size {key!r}; {expected}")
        if not (value.isdecimal() and int(value)):
            raise InputError(f"--set {key}={value}: expected SIZE=NUMBER, the number at least 1")
        sizes[key] = int(value)
    return sizes


def settings_of(
    settings: Sequence[str], variant: str, target: str
) -> tuple[dict[str, ParameterValue], dict[str, ParameterValue]]:
    """Return the variant's parameters and the target's options out of a list of `KEY=VALUE`.

    A key that both have is the variant's; the option is `target.KEY`, as in tables (`Case.settings`).
    """
    plugins.check_name("variant", variant)
    try:
        plugins.check_target(target)
    except InputError as error:
        raise InputError(f"--target: {error}") from error
    parameters = list(settings_model("variant", variant).model_fields)
    options = list(settings_model("target", plugins.name_of(target)).model_fields)
    params: dict[str, ParameterValue] = {}
    target_options: dict[str, ParameterValue] = {}
    for key, value in _pairs(settings, "KEY=VALUE").items():
        option = key.removeprefix(OF_THE_TARGET)
        if key in parameters:
            params[key] = parameter_value(value)
        elif option in options:
            target_options[option] = parameter_value(value)
        else:
            raise InputError(f"--set {key}={value}: {unknown_key(key, [*parameters, *options])}")
    return params, target_options


def _pairs(settings: Sequence[str], form: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise InputError(f"--set {setting}: expected {form}")
        if key in pairs:
            raise InputError(f"--set {setting}: {key} is set twice, before to {pairs[key]}")
        pairs[key] = value
    return pairs


def parameter_value(text: str) -> ParameterValue:
    """Return an integer, a number or true/false where the text is one, else the text."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def numbers(text: str, field: ProblemField) -> tuple[int | None, ...]:
    """Return `0,64,128` as numbers."""
    try:
        return field.parsed(text)
    except ValueError as error:
        expected = (
            "integers, such as 0,64,128"
            if field.length is None
            else (f"{field.length} integers or {UNLIMITED}, such as 128,0 or {UNLIMITED},0")
        )
        raise InputError(f"{_option(field.name)}: found {shown(text)}, expected {expected}") from error


def _option(field: str) -> str:
    return "--" + field.replace("_", "-")


def _named_by_option(line: str) -> str:
    """Return a mistake in a problem with the option instead of the field that is to blame, if one is."""
    name, colon, rest = line.partition(":")
    return f"{_option(name)}:{rest}" if colon and name in problem_fields() else f"problem: {line}"

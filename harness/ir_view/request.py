"""From the options of `harness ir` to what is to be built."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from harness import plugins
from harness.errors import InputError
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import ParameterValue

DEFAULTS: dict[str, Any] = {"heads": 2, "head_dim": 64}
DEFAULT_SEQ = 256
PROBLEM_OPTIONS = ("seq", *AttentionProblem.model_fields)
"""Names of the options that describe the problem."""
LENGTHS = ("cu_seqlens_q", "cu_seqlens_kv", "kv_lengths")


def problem_of(options: Mapping[str, Any]) -> AttentionProblem:
    """Return the problem that options describe; None is an option that was not given.

    Options that are not about the problem are passed over.  `seq` is both lengths, where `seq_q` and
    `seq_kv` do not say otherwise.  Raises `InputError` naming the option that is wrong.
    """
    given = {name: options[name] for name in PROBLEM_OPTIONS if options.get(name) is not None}
    seq = given.pop("seq", None)
    for name in LENGTHS:
        if name in given:
            given[name] = integers(given[name], name)
    if "window" in given:
        given["window"] = window(given["window"])
    fields = {**DEFAULTS, **given}
    if seq is not None and seq <= 0:
        raise InputError(f"--seq: found {seq}, input should be greater than 0")
    if seq is not None and "cu_seqlens_q" in given:
        raise InputError("--seq: --cu-seqlens-q and --cu-seqlens-kv already say how long the sequences are")
    if "cu_seqlens_q" not in given:
        fields.setdefault("seq_q", DEFAULT_SEQ if seq is None else seq)
        if seq is not None:
            fields.setdefault("seq_kv", seq)
    try:
        return AttentionProblem.model_validate(fields)
    except ValidationError as error:
        raise InputError(_first_mistake(error)) from error


def sizes_of(
    given: Sequence[str], other_options: Sequence[str], schedule: str, known: Sequence[str]
) -> dict[str, int]:
    """Return a schedule's sizes out of a list of `SIZE=NUMBER`.

    Raises `InputError` for a size that the schedule does not have or that is no positive integer, and for
    options of the problem or of the build, which a schedule does not have (`other_options`, by name).
    """
    expected = f"a schedule takes only --set SIZE=NUMBER; sizes of {schedule}: {', '.join(known)}"
    if other_options:
        raise InputError(f"{', '.join(map(_option, other_options))}: {expected}")
    sizes = {}
    for key, value in _pairs(given, "SIZE=NUMBER").items():
        if key not in known:
            raise InputError(f"--set {key}={value}: unknown size {key!r}; {expected}")
        if not (value.isdecimal() and int(value)):
            raise InputError(f"--set {key}={value}: expected SIZE=NUMBER, the number at least 1")
        sizes[key] = int(value)
    return sizes


def settings_of(
    given: Sequence[str], variant: str, target: str
) -> tuple[dict[str, ParameterValue], dict[str, ParameterValue]]:
    """Return the variant's parameters and the target's options out of a list of `KEY=VALUE`.

    Raises `InputError` for a key that neither has, and for a variant, target or chip that does not exist.
    """
    plugins.check_name("variant", variant)
    plugins.check_name("target", target.partition(":")[0])
    _check_chip(target)
    parameters = _fields(plugins.variant(variant).parameters)
    options = _fields(plugins.target(target).options)
    params: dict[str, ParameterValue] = {}
    target_options: dict[str, ParameterValue] = {}
    for key, value in _pairs(given, "KEY=VALUE").items():
        if key in parameters:
            params[key] = parameter_value(value)
        elif key in options:
            target_options[key] = parameter_value(value)
        else:
            allowed = ", ".join([*parameters, *options]) or "none"
            raise InputError(f"--set {key}={value}: unknown key {key!r}; allowed: {allowed}")
    return params, target_options


def _pairs(given: Sequence[str], form: str) -> dict[str, str]:
    """Return settings by key; raises `InputError` for what is not of the form and for a key given twice."""
    pairs: dict[str, str] = {}
    for setting in given:
        key, equals, value = setting.partition("=")
        if not equals:
            raise InputError(f"--set {setting}: expected {form}")
        if key in pairs:
            raise InputError(f"--set {setting}: {key} is set twice, before to {pairs[key]}")
        pairs[key] = value
    return pairs


def _check_chip(target: str) -> None:
    name, colon, chip = target.partition(":")
    chips = plugins.target(name).chips()
    if colon and chip not in chips:
        raise InputError(f"--target {target}: unknown chip {chip!r}; expected one of {', '.join(chips)}")


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


def integers(text: str, name: str) -> tuple[int, ...]:
    """Return `0,64,128` as numbers."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise InputError(f"{_option(name)}: found {text!r}, expected integers, such as 0,64,128") from error


def window(text: str) -> tuple[int | None, int | None]:
    """Return `LEFT,RIGHT`, of which a side may be `none`."""
    sides = text.split(",")
    try:
        left, right = (None if side == "none" else int(side) for side in sides)
    except ValueError as error:
        raise InputError(f"--window: found {text!r}, expected LEFT,RIGHT, such as 128,0 or none,0") from error
    return left, right


def _fields(model: type[BaseModel]) -> list[str]:
    return list(model.model_fields)


def _option(field: str) -> str:
    return "--" + field.replace("_", "-")


def _first_mistake(error: ValidationError) -> str:
    """Return one line, with the option if one field is to blame."""
    first = error.errors()[0]
    message = first["msg"].removeprefix("Value error, ")
    if not first["loc"]:
        return f"problem: {message}"
    return f"{_option(str(first['loc'][0]))}: found {first['input']!r}, {message[:1].lower()}{message[1:]}"

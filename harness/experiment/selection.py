"""Choosing a part of an experiment's cases: `--only variant=flash,naive --only seq=256`.

Values of one key are alternatives, given together or in several filters; different keys must all hold.
"""

from collections.abc import Sequence
from typing import Any

from harness.experiment.axes import PROBLEM_NAMES, problem_values
from harness.experiment.case_settings import settings_model
from harness.plugins import name_of
from harness.problem.case import Case
from harness.problem.dtypes import short_name
from harness.system.errors import HarnessError, InputError
from harness.system.validation import shortened, suggestion

CASE_KEYS = ("case", "variant", "target")

MOST_VALUES_SHOWN = 12


def select(cases: Sequence[Case], only: Sequence[str], option: str = "--only") -> list[Case]:
    """Return the cases that every filter accepts, in order.

    A filter is `KEY=VALUE[,VALUE…]`, and several may stand in one text, `seq=256,variant=flash`.  Keys are
    `case` (the start of an id), `variant`, `target` (with or without a chip), any field of the problem,
    `seq` of cases whose queries and keys have one length, and any parameter or target option of the cases.  A
    pair of numbers is written with a colon, `window=256:0`.
    """
    selected = list(cases)
    filters = _parse(only, _known_keys(cases), option)
    mistakes = [
        f"{option} {key}={value}: {_why_none(cases, key)}"
        for key, wanted in filters.items()
        for value in wanted
        if not any(_matches(case, key, value) for case in cases)
    ]
    if mistakes:
        raise InputError(*mistakes)
    for key, wanted in filters.items():
        selected = [case for case in selected if any(_matches(case, key, value) for value in wanted)]
    if not selected:
        raise InputError(f"{option} {' '.join(only)}: no case fulfils all of these together")
    return selected


def _parse(only: Sequence[str], keys: Sequence[str], option: str) -> dict[str, list[str]]:
    wanted: dict[str, list[str]] = {}
    mistakes = []
    for text in only:
        for words in _filters_in(text):
            key, equals, values = words.partition("=")
            key = key.strip()
            if not equals or not values.strip():
                example = "such as variant=flash or seq=256,512"
                mistakes.append(f"{option} {words!r}: expected KEY=VALUE, {example}")
            elif key not in keys:
                hint = suggestion(key, keys)
                expected = ", ".join(keys)
                mistakes.append(f"{option} {words}: unknown key {key!r}{hint}; expected one of {expected}")
            wanted.setdefault(key, []).extend(value.strip() for value in values.split(",") if value.strip())
    if mistakes:
        raise InputError(*mistakes)
    return wanted


def _filters_in(text: str) -> list[str]:
    """Return the filters of a text: after a comma a word with `=` begins another one."""
    filters: list[str] = []
    for word in text.split(","):
        if filters and "=" not in word:
            filters[-1] += f",{word}"
        else:
            filters.append(word)
    return filters


def _known_keys(cases: Sequence[Case]) -> list[str]:
    """Return what a filter may name, settings of the variants and targets that no case sets included."""
    owners = {("variant", case.variant) for case in cases}
    owners |= {("target", name_of(case.target)) for case in cases}
    settings = {key for case in cases for key in case.settings}
    for kind, name in owners:
        settings.update(_setting_names(kind, name))
    return list(dict.fromkeys((*CASE_KEYS, *PROBLEM_NAMES, *sorted(settings))))


def _setting_names(kind: str, name: str) -> list[str]:
    try:
        return list(settings_model(kind, name).model_fields)
    except HarnessError:
        return []


def _matches(case: Case, key: str, wanted: str) -> bool:
    if key == "case":
        return case.id.startswith(wanted.lower())
    if key == "target":
        return wanted in (case.target, name_of(case.target))
    if key == "dtype":
        wanted = short_name(wanted)
    return _same(_value(case, key), wanted)


def _value(case: Case, key: str) -> Any:
    if key in CASE_KEYS:
        return {"case": case.id, "variant": case.variant, "target": case.target}[key]
    if key in PROBLEM_NAMES:
        return problem_values(case.problem)[key]
    return case.settings.get(key)


def _same(value: Any, wanted: str) -> bool:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(wanted) == value
        except ValueError:
            return False
    return _spelled(value) == wanted


def _spelled(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ":".join(_spelled(element) for element in value)
    return str(value)


def _place(value: Any) -> tuple[bool, float, str]:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return (not is_number, float(value) if is_number else 0.0, _spelled(value))


def _why_none(cases: Sequence[Case], key: str) -> str:
    sorted_values = sorted({_value(case, key) for case in cases}, key=_place)
    values = list(dict.fromkeys(shortened(_spelled(value)) for value in sorted_values))
    more = " …" if len(values) > MOST_VALUES_SHOWN else ""
    if key == "seq" and "none" in values:
        more += "; none: queries and keys differ in length, choose by seq_q or seq_kv"
    elif values == ["none"]:
        return f"no case sets {key}; set it in the experiment to choose by it"
    return f"no case has it; found {', '.join(values[:MOST_VALUES_SHOWN])}{more}"

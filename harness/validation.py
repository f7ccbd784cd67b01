"""What pydantic finds wrong in a user's file, in one line: which key, what was found, what is expected."""

import difflib
import json
from collections.abc import Collection, Iterable
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

EXPECTED_TYPES = {
    "int_type": "an integer",
    "int_parsing": "an integer",
    "int_from_float": "an integer",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "a string",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "tuple_type": "a list",
    "list_type": "a list",
}
"""What each pydantic error type of a wrong kind of value means in TOML's words."""

BOUNDS = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}

LONGEST_VALUE = 60


def suggestion(name: str, known: Collection[str]) -> str:
    """Return ` (did you mean X?)` where a known name is close to this one, else nothing."""
    close = difflib.get_close_matches(name, known, n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def unknown_key(name: str, allowed: Iterable[str]) -> str:
    """Return the message for a key that is not one of the allowed keys."""
    keys = list(allowed)
    return f"unknown key{suggestion(name, keys)}; allowed: {', '.join(keys) or 'none'}"


def unknown_name(kind: str, name: str, known: Iterable[str]) -> str:
    """Return the message for a name (of a variant, a target …) that is not one of the known ones."""
    names = list(known)
    return f"unknown {kind} {name!r}{suggestion(name, names)}; expected one of {', '.join(names) or 'none'}"


def shown(value: Any) -> str:
    """Return a value as the file spells it, shortened to stay on the line."""
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"


def first_line(messages: list[str]) -> str:
    """Return the first of several messages and how many more there are."""
    return messages[0] + (f" (and {len(messages) - 1} more)" if len(messages) > 1 else "")


def messages(
    error: ValidationError, model: type[BaseModel], prefix: str = "", extra_keys: tuple[str, ...] = ()
) -> list[str]:
    """Return `key: what is wrong` for every key that `error`, raised by validating `model`, complains about.

    Keys are dotted and start with `prefix`; `extra_keys` are allowed at the top beside the model's fields.
    A union's alternatives, which pydantic reports one by one, become one message.
    """
    expectations: dict[str, list[str]] = {}
    found: dict[str, str] = {}
    # A misspelt key is what explains the missing one, so it comes first.
    for detail in sorted(error.errors(), key=lambda detail: detail["type"] != "extra_forbidden"):
        key, table = _locate(model, detail["loc"])
        key = ".".join(part for part in (prefix, key) if part)
        if detail["type"] == "extra_forbidden":
            allowed = (*(extra_keys if table is model else ()), *table.model_fields)
            found.setdefault(key, unknown_key(str(detail["loc"][-1]), allowed))
        elif detail["type"] == "too_short" and key in found:
            continue  # pydantic does not count the wrong values of a list
        elif detail["type"] == "missing":
            found.setdefault(key, "missing")
        elif detail["type"] in ("value_error", "assertion_error"):
            found.setdefault(key, str(detail["ctx"]["error"]))
        else:
            found.setdefault(key, f"found {shown(detail['input'])}")
            expectations.setdefault(key, []).append(_expected(detail))
    return [_message(key, what, expectations.get(key, [])) for key, what in found.items()]


def _message(key: str, what: str, expectations: list[str]) -> str:
    line = f"{key}: {what}" if key else what
    if expectations:
        line += f", expected {' or '.join(dict.fromkeys(expectations))}"
    return line


def _expected(detail: Any) -> str:
    """Return what pydantic expected instead, in words."""
    kind, context = detail["type"], detail.get("ctx", {})
    if kind in EXPECTED_TYPES:
        return EXPECTED_TYPES[kind]
    if kind in BOUNDS:
        bound, words = BOUNDS[kind]
        if (kind, context[bound]) == ("greater_than", 0):
            return "a positive integer" if isinstance(detail["input"], int) else "a positive number"
        return f"{words} {context[bound]:g}"
    if kind == "literal_error":
        return str(context["expected"])
    if kind in ("too_short", "string_too_short"):
        return "at least one value"
    message = str(detail["msg"])
    return message[:1].lower() + message[1:]


def _locate(model: type[BaseModel], location: tuple[int | str, ...]) -> tuple[str, type[BaseModel]]:
    """Return the dotted key that pydantic's error location means, and the model of the table it is in.

    An index into a list of tables is shown, `problems[1].heads`; positions inside a value and the labels of
    a union's alternatives are not.
    """
    key = ""
    table = model
    for depth, part in enumerate(location):
        field = table.model_fields.get(str(part))
        is_last = depth == len(location) - 1
        if isinstance(part, int):
            key += f"[{part}]"
            continue
        key += f".{part}" if key else part
        if field is None or is_last:
            continue
        nested = _nested_model(field.annotation)
        if nested is not None:
            table = nested
        elif get_origin(field.annotation) is not dict:
            break
    return key, table


def _nested_model(annotation: Any) -> type[BaseModel] | None:
    """Return the model inside an annotation such as `tuple[Model, ...]` or `Model | None`, if any."""
    if isinstance(annotation, type) and get_origin(annotation) is None:
        return annotation if issubclass(annotation, BaseModel) else None
    for argument in get_args(annotation):
        nested = _nested_model(argument)
        if nested is not None:
            return nested
    return None

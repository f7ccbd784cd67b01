"""One strict validation for files, the command line and Python: values made plain, mistakes made lines.

`plain` turns what Python code hands over into what a file could hold; `messages` says what pydantic finds
wrong, one line a key: what was found, what is expected.
"""

import difflib
import json
from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import Any, TypeVar, get_args, get_origin

import numpy as np
from pydantic import BaseModel, ValidationError

Model = TypeVar("Model", bound=BaseModel)

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
LONGEST_NAME = 100
"""A longer name is no misspelling of a known one."""

MOST_NAMES = 40
"""Known names that a message lists."""

LARGEST_INTEGER = 2**63 - 1

CLOSE = 0.7
"""Similarity from which on a name is suggested; 1 is equal."""


def closest(name: str, known: Collection[str]) -> str | None:
    """Return the known name that this one is probably meant to be, if any."""
    if len(name) > LONGEST_NAME:
        return None
    close = difflib.get_close_matches(name, known, cutoff=CLOSE)
    return min(close, key=lambda other: other[:1] != name[:1], default=None)


def suggestion(name: str, known: Collection[str]) -> str:
    """Return ` (did you mean X?)` where a known name is close to this one, else nothing."""
    meant = closest(name, known)
    return f" (did you mean {meant}?)" if meant else ""


def plain(value: Any) -> Any:
    """Return a value as a file could hold it: NumPy's numbers as Python's, lists and arrays as tuples.

    What a file cannot hold is returned as it is.  Raises `ValueError` for an integer beyond 64 bits.
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, int) and abs(value) > LARGEST_INTEGER:
        raise ValueError(f"found {shown(value)}, expected one of at most 64 bits")
    if isinstance(value, dict):
        return {name: plain(element) for name, element in value.items()}
    return tuple(map(plain, value)) if isinstance(value, list | tuple) else value


def plain_entries(table: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a table of texts to values that are `plain`; a `ValueError` begins with the key."""
    entries = {}
    for key, value in table.items():
        name = key if isinstance(key, str) else shown(key)
        try:
            entries[name] = plain(value)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
    return entries


def validated(model: type[Model], values: Mapping[str, Any]) -> Model:
    """Return settings checked by their model, as strictly as a file's: no number from a text, no text from
    a number, but an enumeration from its value.

    Raises `ValidationError`, see `messages`, or `ValueError` for what no setting can be.
    """
    found = plain_entries(values)
    for name, value in found.items():
        if not isinstance(value, int | float | str | tuple | None):
            raise ValueError(f"{name}: found {shown(value)}, expected a number, a truth value or a text")
    return model.model_validate_json(json.dumps(found, default=_described), strict=True)


def each_once(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the values of a list; raises `ValueError` if one stands in it twice."""
    seen = set()
    for value in values:
        key = (type(value), value) if isinstance(value, Hashable) else (type(value), repr(value))
        if key in seen:
            raise ValueError(f"found {shown(value)} twice, expected each value once")
        seen.add(key)
    return values


def unknown_key(name: str, allowed: Iterable[str]) -> str:
    """Return the message for a key that is not one of the allowed keys."""
    keys = list(allowed)
    return f"unknown key{suggestion(name, keys)}; allowed: {', '.join(keys) or 'none'}"


def unknown_name(kind: str, name: Any, known: Iterable[str], meant: Collection[str] | None = None) -> str:
    """Return the message for a name (of a variant, a target …) that is not one of the known ones.

    It may be `meant` to be one that is not listed, too.
    """
    names = list(known)
    hint = suggestion(name, names if meant is None else meant) if isinstance(name, str) else ""
    named = shortened(repr(name)) if isinstance(name, str | None) else shown(name)
    listed = ", ".join(map(shortened, names[:MOST_NAMES])) or "none"
    more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    return f"unknown {kind} {named}{hint}; expected one of {listed}{more}"


def shown(value: Any) -> str:
    """Return a value as the file spells it, shortened to stay on the line."""
    if isinstance(value, int) and abs(value) > LARGEST_INTEGER:
        return f"an integer of {value.bit_length()} bits"
    if isinstance(value, str):
        return shortened(json.dumps(value[:LONGEST_VALUE], ensure_ascii=False))
    try:
        return shortened(json.dumps(value, ensure_ascii=False))
    except (TypeError, ValueError):
        return shortened(_described(value))


def _described(value: Any) -> str:
    """Return the type of a value that no file holds, and what it says of itself."""
    return f"{type(value).__name__} {value}"


def shortened(text: str) -> str:
    """Return a text cut to what has room on a line."""
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"


def messages(
    error: ValidationError, model: type[BaseModel], prefix: str = "", extra_keys: tuple[str, ...] = ()
) -> list[str]:
    """Return `key: what is wrong` for every key that `error`, raised by validating `model`, complains about.

    Keys are dotted and start with `prefix`; `extra_keys` are allowed at the top beside the model's fields.
    A union's alternatives, which pydantic reports one by one, become one message.  Where a table's own
    validator raises an error of several lines, each is a message.
    """
    expectations: dict[str, list[str]] = {}
    found: dict[str, str] = {}
    misspelt: set[str | None] = set()
    # A misspelt key is what explains the missing one, so it comes first.
    for detail in sorted(error.errors(), key=lambda detail: detail["type"] != "extra_forbidden"):
        key, table = _locate(model, detail["loc"])
        key = ".".join(part for part in (prefix, key) if part)
        if detail["type"] == "extra_forbidden":
            allowed = (*(extra_keys if table is model else ()), *table.model_fields)
            found.setdefault(key, unknown_key(str(detail["loc"][-1]), allowed))
            misspelt.add(closest(str(detail["loc"][-1]), allowed))
        elif detail["type"] == "too_short" and key in found:
            continue  # pydantic does not count the wrong values of a list
        elif detail["type"] == "missing":
            if detail["loc"][-1] not in misspelt:
                found.setdefault(key, "missing")
        elif detail["type"] in ("value_error", "assertion_error"):
            found.setdefault(key, str(detail["ctx"]["error"]))
        else:
            found.setdefault(key, f"found {shown(detail['input'])}")
            expectations.setdefault(key, []).append(_expected(detail))
    return [
        _message(key, line, expectations.get(key, []))
        for key, what in found.items()
        for line in what.split("\n")
    ]


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
            return "a positive integer" if isinstance(context[bound], int) else "a positive number"
        return f"{words} {context[bound]}"
    if kind == "literal_error":
        return str(context["expected"])
    if kind in ("too_short", "string_too_short"):
        return "at least one value"
    if kind == "too_long":
        return f"at most {context['max_length']} values"
    message = str(detail["msg"])
    return message[:1].lower() + message[1:]


def _locate(model: type[BaseModel], location: tuple[int | str, ...]) -> tuple[str, type[BaseModel]]:
    """Return the dotted key that pydantic's error location means, and the model of the table it is in.

    An index into a list of tables is shown, `problems[1].heads`; positions inside a value and the labels of
    a union's alternatives are not.
    """
    key = ""
    table = model
    entries: Any = None  # type of the dictionary whose key the next part is
    for part in location:
        field = table.model_fields.get(str(part))
        if isinstance(part, int):
            key += f"[{part}]"
            continue
        if part != getattr(table, "inlined", None):
            key += f".{shortened(part)}" if key else shortened(part)
        if entries is not None:
            entries = get_args(entries)[1]
            if get_origin(entries) is not dict:
                break  # what follows lies inside the value
        if field is None:
            continue
        nested = _nested_model(field.annotation)
        if nested is not None:
            table = nested
        elif get_origin(field.annotation) is dict:
            entries = field.annotation
        else:
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

"""One strict validation for files, the command line and Python: values made plain, mistakes made lines.

`plain` turns what Python code hands over into what a file could hold; `messages` says what pydantic finds
wrong, one line a mistake.
"""

import difflib
import json
import math
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, get_args

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

Model = TypeVar("Model", bound=BaseModel)

LONGEST_VALUE = 60
LONGEST_NAME = 100
"""A longer name is no misspelling of a known one."""

MOST_NAMES = 40

LARGEST_INTEGER = 2**63 - 1

CLOSE = 0.7
"""Similarity from which on a name is suggested; 1 is equal."""


class FrozenModel(BaseModel):
    """A model whose values stay as they are; a key that it does not know is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def closest(name: str, known_names: Collection[str]) -> str | None:
    """Return the known name that this one is probably meant to be, if any."""
    if len(name) > LONGEST_NAME:
        return None
    close = difflib.get_close_matches(name, known_names, cutoff=CLOSE)
    return min(close, key=lambda other: other[:1] != name[:1], default=None)


def suggestion(name: str, known_names: Collection[str]) -> str:
    """Return ` (did you mean X?)` where a known name is close to this one, else nothing."""
    meant = closest(name, known_names)
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
    """Return settings checked by their model, as strictly as a file's: no number from a text, say."""
    entries = plain_entries(values)
    for name, value in entries.items():
        if not isinstance(value, int | float | str | tuple | None):
            raise ValueError(f"{name}: found {shown(value)}, expected a number, a truth value or a text")
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{name}: found {shown(value)}, expected a finite number")
    return model.model_validate_json(json.dumps(entries, default=_described), strict=True)


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


def unknown_name(
    kind: str, name: Any, known_names: Iterable[str], meant: Collection[str] | None = None
) -> str:
    """Return the message for a name (of a variant, a target …) that is not one of the known ones."""
    names = list(known_names)
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
    return f"{type(value).__name__} {value}"


def shortened(text: str) -> str:
    """Return a text cut to what has room on a line."""
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"


def messages(error: ValidationError, prefix: str = "", model: type[BaseModel] | None = None) -> list[str]:
    """Return pydantic's own list of mistakes: a line for each, with its dotted key and what was found.

    Of a `model` whose keys a person writes, an unknown one comes with those that are meant.
    """
    lines = []
    for detail in error.errors(include_url=False):
        if detail["type"] == "too_short" and detail["input"]:
            continue  # pydantic does not count the wrong values of a list
        key = ".".join(filter(None, (prefix, *map(str, detail["loc"]))))
        if detail["type"] == "value_error":
            what = str(detail["ctx"]["error"])
        elif detail["type"] == "extra_forbidden" and model is not None:
            what = unknown_key(str(detail["loc"][-1]), _table_at(model, detail["loc"]).model_fields)
        elif detail["type"] in ("missing", "extra_forbidden"):
            what = detail["msg"]
        else:
            what = f"{detail['msg']}, found {shown(detail['input'])}"
        lines += [f"{shortened(key)}: {line}" if key else line for line in what.split("\n")]
    return list(dict.fromkeys(lines))


def _table_at(model: type[BaseModel], place: Sequence[int | str]) -> type[BaseModel]:
    """Return the model of the table that has a key: names of entries and numbers of tables are passed by."""
    for word in place[:-1]:
        field = model.model_fields.get(str(word))
        model = model if field is None else _model_in(field.annotation) or model
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the model of the tables in a field of this type, such as `dict[str, Model]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)

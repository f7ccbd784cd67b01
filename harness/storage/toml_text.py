"""TOML from elsewhere, read whole or refused in one line."""

import tomllib
from typing import Any

DEEPEST = 100
"""Tables and lists within each other; what reads a table goes into it step by step."""

TOO_LONG = "found an integer of thousands of digits, expected at most 64 bits"
TOO_DEEP = "found lists or tables that are nested too deeply to be read"


class UnreadableTomlError(Exception):
    """A text may be TOML, but Python cannot hold what it says; the message says why."""


def parse_toml(text: str) -> dict[str, Any]:
    """Return the table that a text spells.

    Raises `tomllib.TOMLDecodeError` for a text that is not TOML, and `UnreadableTomlError`.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except ValueError as error:
        raise UnreadableTomlError(TOO_LONG) from error
    except RecursionError as error:
        raise UnreadableTomlError(TOO_DEEP) from error
    if _is_deeper(table, DEEPEST):
        raise UnreadableTomlError(TOO_DEEP)
    return table


def _is_deeper(table: dict[str, Any], levels: int) -> bool:
    """Return whether a table holds something on more than so many levels."""
    level: list[Any] = [table]
    for _ in range(levels):
        within: list[Any] = []
        for value in level:
            within += value.values() if isinstance(value, dict) else value
        level = [value for value in within if isinstance(value, dict | list)]
    return bool(level)

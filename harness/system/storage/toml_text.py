"""TOML from elsewhere, read whole or refused in one line."""

import tomllib
from typing import Any


class UnreadableTomlError(Exception):
    """A text may be TOML, but Python cannot hold what it says; the message says why."""


def parse_toml(text: str) -> dict[str, Any]:
    """Return the table that a text spells.

    Raises `tomllib.TOMLDecodeError` for a text that is not TOML, and `UnreadableTomlError`.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except (ValueError, RecursionError) as error:
        raise UnreadableTomlError(f"its values are too long or nested too deeply: {error}") from error

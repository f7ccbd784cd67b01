"""TOML from elsewhere: read whole, or refused for a reason that fits a line."""

import tomllib

import pytest

from harness.system.storage.toml_text import UnreadableTomlError, parse_toml


@pytest.mark.parametrize("text", [f"a = {'9' * 5000}", f"a = {'[' * 900}"])
def test_what_python_cannot_hold_is_refused(text: str) -> None:
    with pytest.raises(UnreadableTomlError, match="too long or nested too deeply"):
        parse_toml(text)


def test_what_is_not_toml_says_where() -> None:
    with pytest.raises(tomllib.TOMLDecodeError, match="at line 1"):
        parse_toml("a = True")

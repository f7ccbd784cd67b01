"""TOML from elsewhere: read whole, or refused for a reason that fits a line."""

import tomllib

import pytest

from harness.storage.toml_text import DEEPEST, TOO_DEEP, TOO_LONG, UnreadableTomlError, parse_toml


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"a = {'9' * 5000}", TOO_LONG),
        (f"a = {'[' * 900}", TOO_DEEP),
        (f"{'.'.join((DEEPEST + 1) * 'a')} = 1", TOO_DEEP),
    ],
)
def test_what_python_cannot_hold_is_refused(text: str, reason: str) -> None:
    with pytest.raises(UnreadableTomlError, match=reason):
        parse_toml(text)


def test_tables_as_deep_as_may_be_are_read() -> None:
    assert list(parse_toml(f"{'.'.join(DEEPEST * 'a')} = 1")) == ["a"]


def test_what_is_not_toml_says_where() -> None:
    with pytest.raises(tomllib.TOMLDecodeError, match="at line 1"):
        parse_toml("a = True")

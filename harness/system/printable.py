"""Text from elsewhere, made harmless where it is shown: in a terminal, Markdown, a table, a shell."""

import re
import shlex
import sys
from collections.abc import Iterable
from typing import Any

MARKUP = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "\\|", "`": "\\`"}
FORMULA_BEGINS = ("=", "+", "-", "@")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|nan)", re.IGNORECASE)


def printable(text: str) -> str:
    """Return a text without characters that steer a terminal or hide others: they are spelled out, `\\\\x1b`.

    These are control characters, line breaks among them, marks of writing direction, and lone surrogates.
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text
    )


def all_printable(value: Any) -> Any:
    """Return a value of JSON with all its texts made printable, the names in objects included."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, list):
        return [all_printable(part) for part in value]
    if isinstance(value, dict):
        return {printable(name): all_printable(part) for name, part in value.items()}
    return value


def markdown_text(text: str) -> str:
    """Return a text as Markdown shows it letter by letter: no tag, link, code or cell begins in it."""
    return "".join(MARKUP.get(letter, letter) for letter in printable(text)).replace("](", "]\\(")


def markdown_code(text: str) -> str:
    """Return a text as code in Markdown, which no backtick in it ends."""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    edge = " " if "`" in text else ""
    return f"{fence}{edge}{printable(text)}{edge}{fence}"


def spreadsheet_text(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula: one that looks like one gets an apostrophe."""
    if text.startswith(FORMULA_BEGINS) and not NUMBER.fullmatch(text):
        return f"'{text}"
    return text


def shell_line(words: Iterable[str]) -> str:
    """Return words as one printable line that a shell reads as these words, if they are printable."""
    return printable(shlex.join(words))


def install_line(*what: str) -> str:
    """Return the command that installs packages for the Python that runs now, to be pasted into a shell."""
    return shell_line([sys.executable or "python", "-m", "pip", "install", *what])

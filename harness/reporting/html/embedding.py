"""What is put into a page: data that no tag in it ends, and the digests that say which scripts may run."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import sys
from typing import Any

from markupsafe import Markup

from harness.errors import HarnessError
from harness.printable import all_printable, printable

SPELLED = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}
"""Letters that could begin or end something in HTML, as JSON spells them otherwise."""

RAW_DIGITS = 6
"""Significant digits of the numbers that tables are sorted by."""


def script_json(value: Any) -> Markup:
    """Return a value as JSON that stands in a `<script>` and cannot end it."""
    text = json.dumps(all_printable(value), separators=(",", ":"), allow_nan=False)
    for letter, spelled in SPELLED.items():
        text = text.replace(letter, spelled)
    return Markup(text)


def raw_number(value: Any) -> float | None:
    """Return a number as JSON can hold it, rounded; None where there is none."""
    if value is None or str(value) == "<NA>":
        return None
    number = float(value)
    if math.isnan(number):
        return None
    if math.isinf(number):
        return math.copysign(sys.float_info.max, number)
    return float(f"{number:.{RAW_DIGITS}g}")


def script_text(text: str, what: str) -> Markup:
    """Return a program as the text of a `<script>`; raises `HarnessError` for one that cannot be it.

    After `<!--` and `<script` no end tag ends a script: in its strings and regular expressions the former is
    spelled otherwise.
    """
    if "</script" in text.lower() or "\r" in text:
        raise HarnessError(f"{what}: it cannot stand in a page: it holds </script or a carriage return")
    return Markup(text.replace("<!--", r"<\!--"))


def style_text(text: str, what: str) -> Markup:
    """Return a stylesheet as the text of a `<style>`; raises `HarnessError` for one that cannot be it."""
    if "</style" in text.lower():
        raise HarnessError(f"{what}: it cannot stand in a page: it holds </style")
    return Markup(text)


def source_digest(script: str) -> str:
    """Return what a Content-Security-Policy names an inline script by."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def shown_text(value: Any) -> Any:
    """Return a text without what steers a terminal or hides other letters; its lines stay lines."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return "\n".join(map(printable, value.split("\n")))

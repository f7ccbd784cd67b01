"""A text in a figure's own file, which says where the figure comes from, and how it is read again.

All formats keep it in the same way: as letters and digits behind a mark, wherever the format has a place for
a remark.
"""

from __future__ import annotations

import base64
import binascii
import re
from pathlib import Path

from harness.system.storage.reading import unusable

MARK = "attention-harness:"
EMBEDDED = re.compile(MARK.encode() + rb"([A-Za-z0-9+/]+=*)")
PLACES = {"png": "Comment", "svg": "Source", "pdf": "Keywords"}


def embedded(text: str) -> str:
    """Return a text as it stands in a file."""
    return f"{MARK}{base64.b64encode(text.encode()).decode()}"


def metadata(format: str, text: str) -> dict[str, str | None]:
    """Return what matplotlib is to write into a file of a format."""
    return {PLACES[format]: embedded(text), **({"Date": None} if format == "svg" else {})}


def read_embedded(path: Path) -> str | None:
    """Return the text in a figure's file, None without one; raises `InputError` if it cannot be read."""
    try:
        match = EMBEDDED.search(path.read_bytes())
    except OSError as error:
        raise unusable(path, error) from error
    try:
        return None if match is None else base64.b64decode(match[1]).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None

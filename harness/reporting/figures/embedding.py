"""A line of text in a figure's own file: where each format keeps it, and how it is read again.

An SVG has it as the source of its metadata, a PDF as the keywords of its document information, a PNG as a
text chunk, and files for LaTeX as a comment.  A file that somebody else has written is read with care:
nothing in it is unpacked, and what is no such line is no error of Python's.
"""

from __future__ import annotations

import html
import os
import re
from datetime import UTC, datetime
from pathlib import Path

from harness.errors import InputError
from harness.storage.reading import open_to_read, unusable
from harness.validation import shown

LARGEST_FILE = 256 * 2**20
"""Bytes of a figure that is read."""
PNG_KEY = "attention-harness"
LATEX_BEGIN = "% attention-harness: "

DATE_VARIABLE = "SOURCE_DATE_EPOCH"

SVG_SOURCE = "<dc:source>", "</dc:source>"
PDF_KEYWORDS = re.compile(rb"/Keywords \(((?:[^\\()]++|\\.)*+)\)", re.DOTALL)
"""Without a way back: of a text that ends nowhere each letter is looked at once."""
PDF_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def metadata(format: str, text: str | None) -> dict[str, str | None]:
    """Return what matplotlib is to write into a file of a format: a line of ASCII, and no date.

    Dates are left out so that equal results give equal files.  Raises `InputError` for a PDF where
    matplotlib cannot read the date of the environment, which it reads all the same.
    """
    if format == "pdf":
        _require_readable_date(os.environ.get(DATE_VARIABLE))
    kept = {"png": PNG_KEY, "svg": "Source", "pdf": "Keywords"}[format]
    no_dates = {"png": "Software", "svg": "Date", "pdf": "CreationDate"}[format]
    return {no_dates: None, **({} if text is None else {kept: text})}


def _require_readable_date(given: str | None) -> None:
    try:
        datetime.fromtimestamp(int(given or 0), UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise InputError(f"{DATE_VARIABLE}: found {shown(given)}, expected seconds since 1970") from error


def read_embedded(path: Path) -> str | None:
    """Return the line in a figure's file, None where there is none.

    Raises `InputError` for a file that cannot be read or is no figure.
    """
    readers = {
        ".png": _png_text,
        ".svg": _svg_text,
        ".pdf": _pdf_text,
        ".tex": _latex_text,
        ".dat": _latex_text,
    }
    if path.suffix not in readers:
        raise InputError(f"{path}: found no figure, expected a file that ends in {', '.join(readers)}")
    try:
        with open_to_read(path) as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise unusable(path, error) from error
    if len(content) > LARGEST_FILE:
        raise InputError(f"{path}: found more than {LARGEST_FILE:,} bytes, expected a figure")
    return readers[path.suffix](content)


def _png_text(content: bytes) -> str | None:
    chunk = content.find(b"tEXt" + PNG_KEY.encode() + b"\0")
    if chunk < 4:
        return None
    length = int.from_bytes(content[chunk - 4 : chunk], "big")
    return content[chunk + 4 : chunk + 4 + length].partition(b"\0")[2].decode("latin-1")


def _svg_text(content: bytes) -> str | None:
    begin, end = SVG_SOURCE
    _, _, rest = content.decode("utf-8", "replace").partition(begin)
    source, ended, _ = rest.partition(end)
    return html.unescape(source) if ended else None


def _pdf_text(content: bytes) -> str | None:
    found = PDF_KEYWORDS.search(content)
    return None if found is None else PDF_ESCAPED.sub(r"\1", found[1].decode("latin-1"))


def _latex_text(content: bytes) -> str | None:
    first = content.partition(b"\n")[0].decode("utf-8", "replace")
    return first.removeprefix(LATEX_BEGIN) if first.startswith(LATEX_BEGIN) else None

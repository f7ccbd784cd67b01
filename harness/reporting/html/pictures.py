"""The figures of a report inside a page: whole files, so that no name in one meets a name in another."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.storage.reading import read_bytes

if TYPE_CHECKING:
    from harness.reporting.drawing import Drawn

LARGEST_BYTES = 3_000_000
"""Of a file that a page holds; of a larger one the page says the name."""
MEDIA_TYPES = {".svg": "image/svg+xml", ".png": "image/png"}
"""What a browser shows, by suffix, the better first."""


@dataclass(frozen=True)
class Picture:
    """One figure."""

    name: str
    caption: str
    files: tuple[str, ...]
    address: str | None
    """The file as a `data:` address; None where no browser can show it, or it is too large."""


def pictures(drawn: Drawn) -> list[Picture]:
    """Return the figures that were drawn, in their order."""
    return [
        Picture(name, drawn.captions[name], tuple(file.name for file in files), _address(files))
        for name, files in drawn.files.items()
    ]


def _address(files: Sequence[Path]) -> str | None:
    for suffix, media_type in MEDIA_TYPES.items():
        for file in files:
            if file.suffix == suffix and file.stat().st_size <= LARGEST_BYTES:
                return f"data:{media_type};base64,{base64.b64encode(read_bytes(file)).decode()}"
    return None

"""Whether folders have room."""

import os
from collections.abc import Iterable
from pathlib import Path

LEAST_BYTES = 1 << 20
"""With less than this a disk counts as full."""


def full_folder(folders: Iterable[Path]) -> Path | None:
    """Return the first of these folders whose disk is full; None where there is room, or none is known."""
    for folder in folders:
        try:
            disk = os.statvfs(folder)
        except OSError:
            continue
        if disk.f_bavail * disk.f_frsize < LEAST_BYTES or (disk.f_files > 0 and disk.f_favail == 0):
            return folder
    return None

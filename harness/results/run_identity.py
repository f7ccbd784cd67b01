"""What tells runs apart that are looked at together: the folders that they are read from.

The name that rows carry is that of the folder when they were made.  Two nodes of a cluster that start an
experiment in the same second give it to both their runs, a copy keeps it, and a folder may be renamed.  An
archive stands for a folder with the run's path in it, `node1.tar.gz/sweep/2026-11-21T12-29-35`.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from harness.system.printable import printable


def names_of_folders(folders: Sequence[Path]) -> list[str]:
    """Return the name of each of several different run folders, no two of which are equal."""
    parts = [_parts(folder) for folder in folders]
    return [printable("/".join(own[-_parts_needed(own, parts) :])) for own in parts]


def folder_name(folder: Path) -> str:
    """Return what a folder is called, also where it is given as `.`."""
    return _parts(folder)[-1]


def _parts(folder: Path) -> tuple[str, ...]:
    path = Path(os.path.abspath(folder))
    return path.parts[1:] or path.parts


def _parts_needed(own: tuple[str, ...], all_parts: Sequence[tuple[str, ...]]) -> int:
    """Return with how many of its last parts a path is told from the others that have its last one."""
    alike = [parts for parts in all_parts if parts[-1] == own[-1]]
    for length in range(1, len(own)):
        if sum(parts[-length:] == own[-length:] for parts in alike) == 1:
            return length
    return len(own)

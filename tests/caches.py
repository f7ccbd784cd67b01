"""Artifact caches of tests' own."""

from pathlib import Path

from harness.artifact.cache import LIBRARIES, compiled_libraries
from harness.system.storage.folder_store import make_private

COMPILED = compiled_libraries().root
"""Where the emulator's libraries are, whatever caches tests use later: compiling them takes seconds."""


def empty_cache(folder: Path) -> Path:
    """Make a cache without artifacts, in which the emulator's libraries are those of all tests."""
    for each in (folder, COMPILED):
        if not each.is_dir():
            make_private(each)
    (folder / LIBRARIES).symlink_to(COMPILED)
    return folder

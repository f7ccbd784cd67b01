"""Folders that the user names for output."""

import os
import tempfile
from pathlib import Path

from harness.system.errors import InputError
from harness.system.storage.reading import exists, unusable


def ensure_writable_folder(path: Path, argument: str = "--out") -> Path:
    """Create a folder if need be, and return it; raises `InputError` unless files can be written there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except (OSError, ValueError) as error:
        leads_nowhere = isinstance(error, FileExistsError) and path.is_symlink()
        reason = f"{path}: a link that leads to no folder" if leads_nowhere else unusable(path, error)
        raise InputError(f"{argument} {reason}; expected a folder that can be written") from error
    return path


def ensure_writable_file(path: Path, argument: str) -> Path:
    """Return a path; raises `InputError` unless a file can be written there, which may exist already."""
    ensure_writable_folder(path.parent, argument)
    if exists(path) and not (path.is_file() and os.access(path, os.W_OK)):
        reason = "is a folder" if path.is_dir() else "cannot be written"
        reason = reason if path.is_file() or path.is_dir() else "is no regular file"
        raise InputError(f"{argument} {path}: {reason}; expected a file that can be written")
    return path

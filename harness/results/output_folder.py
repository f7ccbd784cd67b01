"""Folders that the user names for output."""

import tempfile
from pathlib import Path

from harness.errors import InputError


def ensure_writable_folder(path: Path, argument: str = "--out") -> Path:
    """Create a folder if need be, and return it; raises `InputError` unless files can be written there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"{argument} {path}: {reason}; expected a folder that can be written") from error
    return path

"""Paths that a user names, which the system may refuse."""

import os
from pathlib import Path

from harness.system.errors import InputError, cut

LONGEST_PATH = 200
"""Characters of a path that a message shows where the path itself is what is wrong."""


def exists(path: Path) -> bool:
    """Return whether there is something at a path; raises `InputError` for one that the system refuses."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        raise unusable(path, error) from error
    return True


def unusable(path: Path, error: OSError | ValueError) -> InputError:
    """Return the error that says, on a line of readable length, why the system refuses a path."""
    reason = getattr(error, "strerror", None) or str(error)
    return InputError(f"{cut(str(path), LONGEST_PATH)}: {reason}")

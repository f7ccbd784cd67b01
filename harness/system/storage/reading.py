"""Paths that the system may refuse, and the line that says so."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def refusals_told(place: str, kind: type[InputError] = InputError) -> Iterator[None]:
    """Raise an error that begins with the words for a place where the system refuses what is done in here."""
    try:
        yield
    except OSError as error:
        raise kind(f"{place}: {error.strerror or error}") from error

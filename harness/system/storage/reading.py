"""Reading what a user names or somebody else may have written: only regular files are opened.

To open a pipe waits for its writer, for ever if there is none, and a device has no end.
"""

import errno
import io
import os
import stat
from pathlib import Path

from harness.system.errors import InputError, cut

LONGEST_PATH = 200
"""Characters of a path that a message shows where the path itself is what is wrong."""


def open_to_read(path: Path) -> io.BufferedReader:
    """Open a regular file to read its bytes.

    Raises `OSError` for what cannot be opened, and for what is no regular file; its `strerror` says which.
    """
    try:
        mode = os.stat(path).st_mode
    except ValueError as error:  # a byte 0 in the path
        raise OSError(errno.EINVAL, str(error), str(path)) from error
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, "is no regular file", str(path))
    return path.open("rb")


def read_bytes(path: Path) -> bytes:
    """Return what is in a regular file; raises `OSError`, see `open_to_read`."""
    with open_to_read(path) as file:
        return file.read()


def read_text(path: Path, encoding: str = "utf-8") -> str:
    """Return the text in a regular file; raises `OSError`, see `open_to_read`, and `UnicodeDecodeError`."""
    with open_to_read(path) as file, io.TextIOWrapper(file, encoding) as text:
        return text.read()


def exists(path: Path) -> bool:
    """Return whether there is something at a path.

    Raises `InputError` for a path that the system refuses: too long, or in a folder that is not accessible.
    """
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

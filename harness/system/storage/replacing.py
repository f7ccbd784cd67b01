"""Files that are written whole: no reader sees half of one, and no link is followed."""

import contextlib
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PREFIX = ".replacing-"


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Yield a new, empty file beside a path, of the same suffix, that takes the path's place at the end.

    A link at the path is replaced, not followed.  When the body raises, the path stays as it was.  Raises
    `OSError` when the file cannot be made or put into its place.
    """
    temporary = path.with_name(f"{PREFIX}{uuid.uuid4().hex}{path.suffix}")
    os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666))
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file whole, without following a link at its path; raises `OSError`."""
    with replaced(path) as file:
        file.write_text(text, encoding="utf-8")


def remove_leftovers(folder: Path, older_than_s: float = 0.0) -> None:
    """Remove what processes that were killed left of files that they were about to replace.

    Where others may be writing now, only what is older than they take is a leftover.
    """
    for path in folder.glob(f"{PREFIX}*"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - path.lstat().st_mtime >= older_than_s:
                path.unlink()

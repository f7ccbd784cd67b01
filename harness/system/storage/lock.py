"""Locks on files: the kernel drops such a lock when its holder dies, however it dies."""

import contextlib
import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self


class FileLock:
    """A lock that is held as long as a file of its own is open and locked; use `take`."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, path: Path, *, create: bool = True, wait: bool = False) -> Self | None:
        """Return the lock on a file, or None while another holds it and `wait` is false.

        Whoever releases a lock removes its file.  So a file may lose its name between being opened and being
        locked; then it is made anew.  Links are not followed.  Raises `OSError` when the file cannot be
        opened or locked, `FileNotFoundError` when it is not there and `create` is false.
        """
        flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_CREAT if create else 0)
        while True:
            descriptor = os.open(path, flags, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except OSError as error:
                os.close(descriptor)
                if isinstance(error, BlockingIOError):
                    return None
                raise
            if os.fstat(descriptor).st_nlink > 0:
                return cls(path, descriptor)
            os.close(descriptor)

    def release(self) -> None:
        """Give the lock back and remove its file; any number of times."""
        if self._descriptor is None:
            return
        descriptor, self._descriptor = self._descriptor, None
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)
        os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

"""Standard output and error, which may be closed, full, or unable to hold a letter."""

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO

UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})
"""What the system says of a stream that takes no more, except of a pipe that nobody reads."""


class Unfailing:
    """A stream whose failures are nobody's business: a full log must not end a measurement.

    A pipe that nobody reads any more is no failure but a wish to end, and stays an error.
    """

    def __init__(self, stream: TextIO) -> None:
        """Write to `stream` as long as it can be written."""
        self._stream = stream

    def write(self, text: str) -> int:
        """Write text, or lose it."""
        with _unwritable_is_ignored():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush, if that can be done."""
        with _unwritable_is_ignored():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        """Return what the stream says of itself, whether it is a terminal, say."""
        return getattr(self._stream, name)


def prepare_streams() -> None:
    """Make both streams usable: a closed one leads nowhere, a letter that one cannot hold is escaped.

    A closed one must be replaced: the next file that is opened would get its number, and what is printed.
    """
    for name, number in (("stdout", 1), ("stderr", 2)):
        stream = getattr(sys, name)
        if stream is None:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            setattr(sys, name, os.fdopen(number, "w", encoding="utf-8", closefd=False))
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def discard_output() -> None:
    """Let what is buffered for standard output go nowhere: it would fail again when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def tell(line: str) -> None:
    """Write a line on standard error, if it can be written."""
    stream = Unfailing(sys.stderr)
    stream.write(f"{line}\n")
    stream.flush()


@contextlib.contextmanager
def _unwritable_is_ignored() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise

"""A file of JSON lines that survives being killed: what was appended stays, a torn last line is dropped."""

import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from harness.errors import InputError, StorageError, cut
from harness.printable import all_printable, printable
from harness.storage.reading import open_to_read

Record = TypeVar("Record", bound=BaseModel)

LONGEST_REASON = 300
"""Characters of what is wrong with a line of a journal."""

FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
"""A results folder may come from somebody else: what is a link in it is not followed."""


class Journal(Generic[Record]):
    """Records of one pydantic model, one JSON object a line, only ever appended to.

    A process killed in the middle of a write leaves a last line without its end.  Reading ignores such a
    line unless it holds the whole record, and the next append removes it.
    """

    def __init__(self, path: Path, model: type[Record]) -> None:
        self.path = path
        self._model = model

    def append(self, record: Record) -> None:
        """Append a record and wait until it is on disk; raises `InputError` when it cannot be written."""
        line = record.model_dump_json().encode() + b"\n"
        try:
            descriptor = os.open(self.path, FLAGS, 0o666)
            with os.fdopen(descriptor, "r+b", buffering=0) as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                self._heal(descriptor)
                _write_all(descriptor, line)
                os.fsync(descriptor)
        except OSError as error:
            raise self._unwritable(error) from error

    def require_writable(self) -> None:
        """Raise `StorageError` where there are records, and none can be appended."""
        try:
            os.close(os.open(self.path, FLAGS & ~os.O_CREAT))
        except FileNotFoundError:
            return
        except OSError as error:
            raise self._unwritable(error) from error

    def read(self) -> list[Record]:
        """Return the records in the order of their writing, see `records`."""
        return list(self.records())

    def records(self) -> Iterator[Record]:
        """Yield the records in the order of their writing; none when the file does not exist.

        Their texts are printable, whoever has written them.

        Raises `InputError`, with file and line, for a line that is not a record and not a torn last line.
        """
        try:
            with open_to_read(self.path) as file:
                for number, line in enumerate(file, start=1):
                    if line.endswith(b"\n"):
                        yield self._parse(line[:-1], number)
                    elif self._is_record(line):
                        yield self._parse(line, number)
        except FileNotFoundError:
            return
        except OSError as error:
            raise InputError(f"{self.path}: cannot read: {error.strerror}") from error

    def _unwritable(self, error: OSError) -> StorageError:
        is_link = error.errno == errno.ELOOP
        reason = "is a link; expected a file" if is_link else f"cannot write: {error.strerror}"
        return StorageError(f"{self.path}: {reason}")

    def _heal(self, descriptor: int) -> None:
        """End the last line: complete it when it holds a whole record, else remove it."""
        size = os.fstat(descriptor).st_size
        if size == 0 or os.pread(descriptor, 1, size - 1) == b"\n":
            return
        data = os.pread(descriptor, size, 0)
        start_of_tail = data.rfind(b"\n") + 1
        if self._is_record(data[start_of_tail:]):
            _write_all(descriptor, b"\n")
        else:
            os.ftruncate(descriptor, start_of_tail)

    def _is_record(self, line: bytes) -> bool:
        try:
            self._model.model_validate_json(line)
        except ValidationError:
            return False
        return True

    def _parse(self, line: bytes, number: int) -> Record:
        try:
            record = self._model.model_validate_json(line)
            if b"\\" in line or not line.decode().isprintable():
                record = self._model.model_validate(all_printable(record.model_dump()))
            return record
        except ValidationError as error:
            found = f"{self.path}:{number}: not a {self._model.__name__.lower()}"
            raise InputError(f"{found}: {_mistake(error)}") from error


def _mistake(error: ValidationError) -> str:
    """Return the first of what is wrong with a line."""
    mistake = error.errors()[0]
    where = ".".join(str(part) for part in mistake["loc"])
    return cut(printable(f"{where}: {mistake['msg']}" if where else mistake["msg"]), LONGEST_REASON)


def _write_all(descriptor: int, data: bytes) -> None:
    written = 0
    while written < len(data):
        written += os.write(descriptor, data[written:])

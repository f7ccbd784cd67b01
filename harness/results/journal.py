"""A file of JSON lines that survives being killed: what was appended stays, a torn last line is dropped."""

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from harness.errors import InputError

Record = TypeVar("Record", bound=BaseModel)


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
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
            with os.fdopen(descriptor, "r+b", buffering=0) as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                self._heal(descriptor)
                _write_all(descriptor, line)
                os.fsync(descriptor)
        except OSError as error:
            raise InputError(f"{self.path}: cannot write: {error.strerror}") from error

    def read(self) -> list[Record]:
        """Return the records in the order of their writing, see `records`."""
        return list(self.records())

    def records(self) -> Iterator[Record]:
        """Yield the records in the order of their writing; none when the file does not exist.

        Raises `InputError`, with file and line, for a line that is not a record and not a torn last line.
        """
        try:
            with self.path.open("rb") as file:
                for number, line in enumerate(file, start=1):
                    if line.endswith(b"\n"):
                        yield self._parse(line[:-1], number)
                    elif self._is_record(line):
                        yield self._parse(line, number)
        except FileNotFoundError:
            return
        except OSError as error:
            raise InputError(f"{self.path}: cannot read: {error.strerror}") from error

    def _heal(self, descriptor: int) -> None:
        """End the last line: complete it when it holds a whole record, else remove it."""
        size = os.fstat(descriptor).st_size
        if size == 0 or os.pread(descriptor, 1, size - 1) == b"\n":
            return
        data = self.path.read_bytes()
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
            return self._model.model_validate_json(line)
        except ValidationError as error:
            detail = error.errors()[0]
            where = ".".join(str(part) for part in detail["loc"])
            message = f"{where}: {detail['msg']}" if where else detail["msg"]
            raise InputError(
                f"{self.path}:{number}: not a {self._model.__name__.lower()}: {message}"
            ) from error


def _write_all(descriptor: int, data: bytes) -> None:
    written = 0
    while written < len(data):
        written += os.write(descriptor, data[written:])

"""A file of JSON lines that survives being killed: what was appended stays, a torn last line is dropped."""

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from harness.system.errors import InputError, StorageError, cut
from harness.system.printable import all_printable, printable
from harness.system.storage.reading import refusals_told

Record = TypeVar("Record", bound=BaseModel)

LONGEST_REASON = 300


class Journal(Generic[Record]):
    """Records of one pydantic model, one JSON object a line, only ever appended to.

    A process killed in the middle of a write leaves a last line without its end.  Reading ignores such a
    line unless it holds the whole record, and the next append removes it.
    """

    def __init__(self, path: Path, model: type[Record]) -> None:
        self.path = path
        self._model = model

    def append(self, *records: Record) -> None:
        """Append records and wait until they are on disk; raises `InputError` when they cannot be written."""
        lines = b"".join(record.model_dump_json().encode() + b"\n" for record in records)
        with refusals_told(f"{self.path}: cannot write", StorageError), self.path.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            self._heal(file)
            file.write(lines)
            file.flush()
            os.fsync(file)

    def records(self) -> Iterator[Record]:
        """Yield the records as they were written, their texts printable; none when the file does not exist.

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

    def _heal(self, file: BinaryIO) -> None:
        """End the last line: complete it when it holds a whole record, else remove it."""
        size = file.seek(0, os.SEEK_END)
        if size == 0 or os.pread(file.fileno(), 1, size - 1) == b"\n":
            return
        file.seek(0)
        tail = file.read().rpartition(b"\n")[2]
        if self._is_record(tail):
            file.write(b"\n")
        else:
            file.truncate(size - len(tail))

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
            place = f"{self.path}:{number}: not a {self._model.__name__.lower()}"
            raise InputError(f"{place}: {first_mistake(error)}") from error


def first_mistake(error: ValidationError) -> str:
    """Return the first of what is wrong with a record."""
    mistake = error.errors()[0]
    where = ".".join(str(part) for part in mistake["loc"])
    return cut(printable(f"{where}: {mistake['msg']}" if where else mistake["msg"]), LONGEST_REASON)

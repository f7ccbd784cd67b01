"""The journal: what a kill at any byte leaves readable, and what is refused."""

import multiprocessing

import pytest
from pydantic import BaseModel

from harness.errors import InputError
from harness.results.journal import Journal


class Record(BaseModel):
    name: str
    number: int


FIRST, SECOND, THIRD = (Record(name=f"Fall {i} · größer", number=i) for i in range(3))


@pytest.fixture
def journal(tmp_path):
    return Journal(tmp_path / "records.jsonl", Record)


def test_a_journal_that_does_not_exist_is_empty(journal):
    assert journal.read() == []


def test_records_are_read_back_in_order(journal):
    for record in (SECOND, FIRST, SECOND):
        journal.append(record)
    assert journal.read() == [SECOND, FIRST, SECOND]


def _journal_cut_in_last_line(journal, offset):
    """Leave `offset` bytes of the second record's line, as a kill in the middle of its writing does."""
    journal.path.unlink(missing_ok=True)
    journal.append(FIRST)
    start = journal.path.stat().st_size
    journal.append(SECOND)
    last_line = journal.path.read_bytes()[start:]
    if offset > len(last_line):
        return None
    with journal.path.open("r+b") as file:
        file.truncate(start + offset)
    return len(last_line)


def _every_offset():
    line_bytes = len(SECOND.model_dump_json().encode()) + 1
    return range(line_bytes + 1)


@pytest.mark.parametrize("offset", _every_offset())
def test_a_kill_at_any_byte_keeps_all_records_before_and_appending_goes_on(journal, offset):
    line_bytes = _journal_cut_in_last_line(journal, offset)
    survivors = [FIRST, SECOND] if offset >= line_bytes - 1 else [FIRST]
    assert journal.read() == survivors
    journal.append(THIRD)
    assert journal.read() == [*survivors, THIRD]
    assert journal.path.read_bytes().count(b"\n") == len(survivors) + 1


def test_a_torn_first_line_is_removed(journal):
    journal.path.write_bytes(b'{"name": "a", "num')
    assert journal.read() == []
    journal.append(FIRST)
    assert journal.read() == [FIRST]


@pytest.mark.parametrize(
    "line",
    [b'{"name": "a", "num', b"", b"null", b'{"name": "a"}', b'{"name": "a", "number": "x"}', b"\xff\xfe"],
)
def test_a_corrupt_line_before_the_end_is_named_by_file_and_line(journal, line):
    journal.append(FIRST)
    with journal.path.open("ab") as file:
        file.write(line + b"\n")
    journal.append(SECOND)
    with pytest.raises(InputError, match=r"records\.jsonl:2: not a record: ") as caught:
        journal.read()
    assert "\n" not in str(caught.value)


def test_a_journal_below_a_regular_file_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"records\.jsonl: cannot write: Not a directory"):
        Journal(tmp_path / "file" / "records.jsonl", Record).append(FIRST)


def _append_many(path, worker):
    for number in range(50):
        Journal(path, Record).append(Record(name=f"worker {worker}", number=number))


def test_processes_that_append_at_once_lose_nothing(journal):
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_append_many, args=(journal.path, worker)) for worker in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    written = sorted((record.name, record.number) for record in journal.read())
    assert written == [(f"worker {worker}", number) for worker in range(3) for number in range(50)]

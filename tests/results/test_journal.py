"""The journal: what a kill at any byte leaves readable, and what is refused."""

import json
import math
import multiprocessing

import pytest
from example_results import example_result, example_round
from pydantic import BaseModel

from harness.results.journal import Journal
from harness.results.result import Result
from harness.results.timing_rounds import Round
from harness.system.errors import InputError


class Record(BaseModel):
    name: str
    number: int


FIRST, SECOND, THIRD = (Record(name=f"Fall {i} · größer", number=i) for i in range(3))


@pytest.fixture
def journal(tmp_path):
    return Journal(tmp_path / "records.jsonl", Record)


def test_a_journal_that_does_not_exist_is_empty(journal):
    assert list(journal.records()) == []


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
    assert list(journal.records()) == survivors
    journal.append(THIRD)
    assert list(journal.records()) == [*survivors, THIRD]
    assert journal.path.read_bytes().count(b"\n") == len(survivors) + 1


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
        list(journal.records())
    assert "\n" not in str(caught.value)


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
    written = sorted((record.name, record.number) for record in list(journal.records()))
    assert written == [(f"worker {worker}", number) for worker in range(3) for number in range(50)]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("a \\u00d7 b", "a × b"),
        ("tab\\t", "tab\\t"),
        ("\\\\u001b", "\\u001b"),
        ("é\u202e×", "é\\u202e×"),
        ("a\x7fé", "a\\x7fé"),
    ],
)
def test_escapes_of_printable_characters_are_those_characters(journal, text, read):
    journal.path.write_text(f'{{"name": "{text}", "number": 1}}\n')
    assert list(journal.records()) == [Record(name=read, number=1)]


def _row(**changes):
    line = json.loads(example_result().model_dump_json())
    return json.dumps({**line, **changes})


def _round(seconds):
    return json.dumps({**json.loads(example_round().model_dump_json()), "seconds": {"a": [seconds]}})


@pytest.mark.parametrize(
    ("model", "line", "reason"),
    [
        (Result, _row(flops=2**63), "flops: Input should be"),
        (Result, _row(variant="a" * 100_000), "variant: String should have at most 200 characters"),
        (Result, _row(heads=-1), "heads: Input should be greater than or equal to 0"),
        (Result, _row(time_s=-0.25), "time_s: Input should be greater than 0"),
        (Result, _row(time_s=math.inf), "time_s: Input should be a finite number"),
        (Result, _row(a="x" * 1_000_000), "a: Extra inputs are not permitted"),
        (Round, _round(0.0), "greater than or equal to"),
        (Round, _round(math.nan), "greater than or equal to|less than or equal to"),
    ],
)
def test_what_no_run_measures_is_one_line(tmp_path, model, line, reason):
    path = tmp_path / "hostile.jsonl"
    path.write_text(f"{line}\n")
    with pytest.raises(InputError, match=reason) as caught:
        list(Journal(path, model).records())
    assert str(caught.value).startswith(f"{path}:1: not a {model.__name__.lower()}: ")
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 500 + len(str(path))

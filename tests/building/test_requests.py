"""What is noted of a case's key, and when it is not."""

from collections.abc import Iterator
from typing import Any

import pytest
from example_cases import example_case

from harness.building.pool import Outcome
from harness.building.requests import find_keys
from harness.code_digests import code_digest
from harness.results.row_maker import CaseRecord
from harness.workers.protocol import KeyFound


class Answers:
    """Answers each request with one key."""

    def __init__(self, found: KeyFound) -> None:
        self.found = found

    def run(self, requests: Any, on_start: Any, next_request: Any = None) -> Iterator[Outcome]:
        """Yield the answers."""
        for request in requests:
            yield Outcome(request.case, self.found)

    def close(self) -> None:
        """Nothing is held."""


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ({}, None),
        ({"harness": code_digest()}, None),
        ({"harness": "another"}, "harness: the code is not what the run began with"),
        ({"json": "another"}, "json: the code is not what the run began with"),
        ({"no_such_plugin": "a digest"}, "no_such_plugin: no source file is found"),
    ],
)
def test_a_key_of_other_code_than_this_process_finds_is_none(code: dict[str, str], told: str | None) -> None:
    record = CaseRecord(example_case())
    found = KeyFound(key="a" * 64, device="cpu", code=code)
    failures = list(find_keys(Answers(found), {record.case.id: record}, lambda request: None))
    assert (record.key is not None, not failures) == (told is None, told is None)
    for _, failure in failures:
        assert failure.transient
        assert str(told) in failure.reason

"""What is noted of a case's key, and when it is not."""

from collections.abc import Iterator
from typing import Any

import pytest
from example_cases import example_case

from harness.building.pool import Outcome
from harness.building.requests import find_keys
from harness.digest import code_digest
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
    ("code", "is_same"), [({}, True), ({"harness": code_digest()}, True), ({"harness": "another"}, False)]
)
def test_a_key_of_another_harness_than_this_is_none(code: dict[str, str], is_same: bool) -> None:
    record = CaseRecord(example_case())
    found = KeyFound(key="a" * 64, device="cpu", code=code)
    failures = list(find_keys(Answers(found), {record.case.id: record}, lambda request: None))
    assert (record.key is not None, not failures) == (is_same, is_same)
    for _, failure in failures:
        assert failure.transient
        assert "harness: the code is not what the run began with" in failure.reason

"""From cases to content keys, and from keys to artifacts: what runs and builds without running share."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

from harness.building.pool import Outcome
from harness.problem.case import Case
from harness.results.row_maker import CaseRecord
from harness.status import Status
from harness.workers.process import WorkerFailure
from harness.workers.protocol import BuildRequest, Built, KeyFound, KeyRequest


class Builders(Protocol):
    """Answers requests about cases: a `BuildPool`, or a bundle that has the answers."""

    def run(
        self, requests: Iterable[KeyRequest | BuildRequest], on_start: Callable[[Case], None]
    ) -> Iterator[Outcome]:
        """Yield the outcome of each request, in the order in which they end."""

    def close(self) -> None:
        """Release what answering needs."""


def find_keys(
    builders: Builders, records: Mapping[str, CaseRecord], on_start: Callable[[Case], None]
) -> Iterator[tuple[CaseRecord, WorkerFailure]]:
    """Note key and device of each case in its record; yield the cases that have none, and why."""
    requests = [KeyRequest(case=record.case) for record in records.values()]
    for outcome in builders.run(requests, on_start):
        record = records[outcome.case.id]
        record.elapsed_s += outcome.seconds
        if isinstance(outcome.answer, KeyFound):
            record.key, record.device = outcome.answer.key, outcome.answer.device
        elif isinstance(outcome.answer, WorkerFailure):
            yield record, outcome.answer


def build_cases(
    builders: Builders,
    records: Iterable[CaseRecord],
    cache_root: Path | None,
    on_start: Callable[[Case], None],
) -> Iterator[tuple[CaseRecord, WorkerFailure | None]]:
    """Note in its record what each case was built into; yield it with None, or with why it has no code.

    What a toolchain has refused is unsupported, with an artifact of the stages before.
    """
    by_id = {record.case.id: record for record in records}
    requests = [
        BuildRequest(case=record.case, key=record.key, cache_root=cache_root) for record in by_id.values()
    ]
    for outcome in builders.run(requests, on_start):
        record = by_id[outcome.case.id]
        record.elapsed_s += outcome.seconds
        if isinstance(outcome.answer, Built):
            record.note_build(outcome.answer)
            refusal = outcome.answer.artifact.refusal
            yield record, None if refusal is None else WorkerFailure(Status.UNSUPPORTED, refusal)
        elif isinstance(outcome.answer, WorkerFailure):
            yield record, outcome.answer

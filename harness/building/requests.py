"""From cases to content keys, and from keys to artifacts: what runs and builds without running share."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

from harness.building.case_build import BuildRequest, KeyRequest
from harness.building.pool import CaseRequest, Outcome, no_more
from harness.code_digests import code_digests, require_same_code
from harness.errors import ChangedCodeError, PluginError
from harness.results.row_maker import CaseRecord
from harness.status import Status
from harness.workers.process import WorkerFailure
from harness.workers.protocol import Built, KeyFound

OnStart = Callable[[CaseRequest], None]
"""Is told of each request when work on it begins."""


class Builders(Protocol):
    """Answers requests about cases: a `BuildPool`, or a bundle that has the answers."""

    def run(
        self,
        requests: Iterable[CaseRequest],
        on_start: OnStart,
        next_request: Callable[[Outcome], CaseRequest | None] = no_more,
    ) -> Iterator[Outcome]:
        """Yield the outcome of each request, and of what `next_request` asks after it, as they end."""

    def close(self) -> None:
        """Release what answering needs."""


def find_keys(
    builders: Builders, records: Mapping[str, CaseRecord], on_start: OnStart
) -> Iterator[tuple[CaseRecord, WorkerFailure]]:
    """Note key and device of each case in its record; yield the cases that have none, and why."""
    for outcome in builders.run(_key_requests(records.values()), on_start):
        record = records[outcome.case.id]
        failure = _noted(outcome, record)
        if failure is not None:
            yield record, failure


def build_cases(
    builders: Builders, records: Iterable[CaseRecord], cache_root: Path | None, on_start: OnStart
) -> Iterator[tuple[CaseRecord, WorkerFailure | None]]:
    """Note in its record what each case was built into; yield it with None, or with why it has no code.

    A case without a key gets that first, and is then built by what has found it, which has generated its
    kernels already.  What a toolchain has refused is unsupported, with an artifact of the stages before.
    """
    by_id = {record.case.id: record for record in records}
    planned = [record for record in by_id.values() if record.key is None]
    known = [
        BuildRequest(case=record.case, key=record.key, cache_root=cache_root)
        for record in by_id.values()
        if record.key is not None
    ]

    def build_what_has_a_key(outcome: Outcome) -> CaseRequest | None:
        if not isinstance(outcome.answer, KeyFound):
            return None
        return BuildRequest(case=outcome.case, key=outcome.answer.key, cache_root=cache_root)

    for outcome in builders.run([*known, *_key_requests(planned)], on_start, build_what_has_a_key):
        record = by_id[outcome.case.id]
        failure = _noted(outcome, record)
        if failure is not None or isinstance(outcome.answer, Built):
            yield record, failure


def _key_requests(records: Iterable[CaseRecord]) -> list[KeyRequest]:
    return [KeyRequest(case=record.case) for record in records]


def _noted(outcome: Outcome, record: CaseRecord) -> WorkerFailure | None:
    """Note an answer in the record of its case; return why there is none, or why it has no code."""
    record.elapsed_s += outcome.seconds
    answer = outcome.answer
    if isinstance(answer, WorkerFailure):
        return answer
    if isinstance(answer, KeyFound):
        try:
            require_same_code(code_digests(answer.code), answer.code)
        except (ChangedCodeError, PluginError) as error:
            return WorkerFailure(Status.CRASHED, str(error), transient=True)
        record.key, record.device, record.code = answer.key, answer.device, answer.code
    elif isinstance(answer, Built):
        record.note_build(answer)
        refusal = answer.artifact.refusal
        return None if refusal is None else WorkerFailure(Status.UNSUPPORTED, refusal)
    return None

"""Checking a built case in its worker: poisoned memory, every input distribution, the oracle's verdict."""

from collections.abc import Mapping
from pathlib import Path

from harness.artifact.artifact import EMULATING
from harness.reporting.units import beside_limit
from harness.results.row_maker import CaseRecord
from harness.status import Status
from harness.workers.process import WorkerFailure, WorkerProcess
from harness.workers.protocol import BindRequest, Checked, CheckRequest, Done, LoadRequest, Ran, RunRequest

AFTER_TIMING = "right when it was checked, and wrong after the calls that were timed: "


class CheckFailure(Exception):  # noqa: N818 - an outcome of a case, not a fault of the harness
    """A case did not pass: in which phase, and what became of it."""

    def __init__(self, phase: str, failure: WorkerFailure) -> None:
        super().__init__(f"{phase}: {failure}")
        self.phase = phase
        self.failure = failure


def load_case(worker: WorkerProcess, record: CaseRecord, timeout_s: float) -> None:
    """Load a built case's code into a worker; raises `CheckFailure`."""
    if record.folder is None:
        raise ValueError(f"{record.case.id} has not been built")
    try:
        worker.request(LoadRequest(folder=record.folder, code=dict(record.code)), timeout_s, Done)
    except WorkerFailure as failure:
        raise CheckFailure("load", failure) from failure


def bind_inputs(
    worker: WorkerProcess, distribution: str, seed: int, timeout_s: float, placement: int | None = None
) -> None:
    """Bind a worker's code to inputs, in fresh memory; raises `CheckFailure`.

    `placement` varies where in memory that is.
    """
    request = BindRequest(distribution=distribution, seed=seed, placement=placement)
    try:
        worker.request(request, timeout_s, Done)
    except WorkerFailure as failure:
        raise CheckFailure("load", failure) from failure


def check_case(
    worker: WorkerProcess,
    record: CaseRecord,
    expected: Mapping[str, Path],
    seed: int,
    timeout_s: float,
    dump: Path | None = None,
) -> None:
    """Load a built case and compare its output with what the oracle expects of each input distribution.

    The first distribution is run in fresh memory, once more on what that call has left, and again in fresh
    memory: code that leaves a part of the output as it found it, or works only the first time, is seen.  Not
    so on the emulator, where each launch is executed in two orders of lanes, from the same memory, anyway.
    Code that changes its inputs is wrong, too.

    A wrong output goes into the folder `dump`, if there is one, beside what was expected.

    Notes verdict and memory in the record.  Raises `CheckFailure` at the first output outside the tolerance,
    or when the worker fails; each step may take `timeout_s`.
    """
    distributions = list(expected)
    repeated = [] if record.executor == "emulator" else distributions[:1]
    with record.elapsing():
        load_case(worker, record, timeout_s)
        for number, distribution in enumerate([*repeated, *distributions]):
            bind_inputs(worker, distribution, seed, timeout_s)
            _run(worker, record, timeout_s)
            if number < len(repeated):
                _run(worker, record, timeout_s, poison=False)
            file = None if dump is None else dump / f"{record.case.id}-{distribution}.npz"
            _compare(worker, record, distribution, expected[distribution], timeout_s, file)


def check_after_timing(
    worker: WorkerProcess, record: CaseRecord, distribution: str, expectation: Path, timeout_s: float
) -> None:
    """Compare the output of the last call that was timed with what the oracle expects.

    Notes the verdict in the record.  Raises `CheckFailure` when it is wrong, or when the worker fails.
    """
    with record.elapsing():
        _compare(worker, record, distribution, expectation, timeout_s, None, AFTER_TIMING)


def _run(worker: WorkerProcess, record: CaseRecord, timeout_s: float, *, poison: bool = True) -> None:
    try:
        ran = worker.request(RunRequest(poison=poison), timeout_s, Ran)
    except WorkerFailure as failure:
        raise CheckFailure("run", failure) from failure
    if record.executor not in EMULATING:
        record.peak_bytes = max(ran.peak_bytes, record.peak_bytes or 0)


def _compare(
    worker: WorkerProcess,
    record: CaseRecord,
    distribution: str,
    expectation: Path,
    timeout_s: float,
    dump: Path | None,
    when: str = "",
) -> None:
    try:
        verdict = worker.request(CheckRequest(expectation=expectation, dump=dump), timeout_s, Checked)
    except WorkerFailure as failure:
        raise CheckFailure("check", failure) from failure
    record.note_verdict(verdict, distribution)
    if not verdict.ok:
        reason = when + _wrong_reason(verdict, distribution, dump)
        wrong = WorkerFailure(Status.WRONG, reason, log=worker.log())
        raise CheckFailure("check", wrong)


def _wrong_reason(verdict: Checked, distribution: str, dump: Path | None) -> str:
    """Return what is wrong with an output, on one line."""
    times = beside_limit(verdict.error_ratio)
    reason = f"error {verdict.max_abs_error:.2g}, tolerance {verdict.tolerance:.2g}, {times} times as large"
    place = f"; first bad: {verdict.first_bad}" if verdict.first_bad else ""
    details = f"; {verdict.details}" if verdict.details else ""
    arrays = f"; arrays: {dump.name}" if dump is not None else ""
    return f"{reason} ({distribution} inputs{place}{details}{arrays})"

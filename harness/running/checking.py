"""Checking a built case in its worker: poisoned memory, every input distribution, the oracle's verdict."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.artifact.artifact import EMULATING
from harness.problem.changing_inputs import TURNED, operands_of
from harness.reporting.units import beside_limit
from harness.results.row_maker import CaseRecord
from harness.running.check_requests import (
    BindRequest,
    ChangeInputsRequest,
    ChangeOperandsRequest,
    CheckRequest,
    GiveInputsRequest,
    LoadRequest,
    RunRequest,
)
from harness.status import Status
from harness.workers.process import WorkerFailure, WorkerProcess
from harness.workers.protocol import Answer, Checked, Request

EMULATOR = "emulator"
"""The executor whose launches are executed twice each anyway, and take long."""
AS_DRAWN = 0
OTHER_SIGN = 1
"""Numbers of inputs: odd ones have the other sign, see `harness.problem.changing_inputs`."""
ON_OTHER_INPUTS = "right on its first inputs, and wrong on others: "
WITH_OTHER_OPERANDS = "right on its first inputs, and wrong when it is bound again with other values of {}: "


class CheckFailure(Exception):  # noqa: N818 - an outcome of a case, not a fault of the harness
    """A case did not pass: in which phase, and what became of it."""

    def __init__(self, phase: str, failure: WorkerFailure) -> None:
        super().__init__(f"{phase}: {failure}")
        self.phase = phase
        self.failure = failure


@dataclass(frozen=True)
class ExpectationFiles:
    """Files of what the oracle expects in one check."""

    files: Mapping[str, Path]
    """Of each input distribution."""
    others: Path | None = None
    """Of the first one, with other scores, if there is one."""
    other_operands: Mapping[int, Path] = field(default_factory=dict)
    """Of the first one, with other masks, biases, sinks and weights, by their number, if it has them."""


def load_case(worker: WorkerProcess, record: CaseRecord, timeout_s: float) -> None:
    """Load a built case's code into a worker; raises `CheckFailure`."""
    if record.folder is None:
        raise ValueError(f"{record.case.id} has not been built")
    request = LoadRequest(folder=record.folder, code=dict(record.code), candidate=record.candidate)
    loaded = _asked("load", worker, request, timeout_s)
    record.driver_metrics = loaded.metrics
    record.note_candidate(loaded.candidate)


def bind_inputs(worker: WorkerProcess, distribution: str, seed: int, timeout_s: float) -> None:
    """Bind a worker's code to inputs, in fresh memory; raises `CheckFailure`."""
    _asked("load", worker, BindRequest(distribution=distribution, seed=seed), timeout_s)


def check_case(
    worker: WorkerProcess,
    record: CaseRecord,
    expected: ExpectationFiles,
    seed: int,
    timeout_s: float,
    dump: Path | None = None,
    keep: Path | None = None,
) -> None:
    """Load a built case and compare its output with what the oracle expects of each input distribution.

    The first distribution is run in fresh memory, again on what that call has left, and some more times if
    that takes no time to speak of; then on other inputs, those with other scores or else with the other
    sign; bound again with other masks, biases, sinks and weights; and once more in fresh memory.  So code is
    seen that leaves a part of the output as it found it, keeps what it has computed or converted before,
    works only the first time, or not always.  Not so on the emulator, where each launch is executed in two
    orders of lanes, from the same memory, anyway.  Code that changes its inputs is wrong, too.

    A wrong output goes into the folder `dump`, if there is one, beside what was expected.  The outputs for
    the first distribution go to the file `keep`, if it is asked for, right or wrong.

    Notes verdict and memory in the record.  Raises `CheckFailure` at the first output outside the tolerance,
    or when the worker fails; each step may take `timeout_s`.
    """
    checking = _Checking(worker, record, seed, timeout_s, dump, {next(iter(expected.files)): keep})
    with record.elapsing():
        load_case(worker, record, timeout_s)
        for distribution in list(expected.files)[:1] if record.executor != EMULATOR else ():
            checking.check_repeatedly(distribution, expected)
        for distribution, expectation in expected.files.items():
            bind_inputs(worker, distribution, seed, timeout_s)
            _run(worker, record, timeout_s)
            checking.compare(distribution, expectation)


@dataclass(frozen=True)
class _Checking:
    """The check of one case in its worker."""

    worker: WorkerProcess
    record: CaseRecord
    seed: int
    timeout_s: float
    dump: Path | None
    keep: Mapping[str, Path | None]
    """Where the outputs for a distribution stay."""

    def check_repeatedly(self, distribution: str, expected: ExpectationFiles) -> None:
        """Check calls on inputs that are the same, and on others; what memory they take does not count."""
        bound = BindRequest(distribution=distribution, seed=self.seed, changes=True)
        _asked("load", self.worker, bound, self.timeout_s)
        self._run(RunRequest())
        self._run(RunRequest(poison=False, reads=True))
        self.compare(distribution, expected.files[distribution], repeats=True)
        number = OTHER_SIGN if expected.others is None else TURNED
        self._run(ChangeInputsRequest(number=number))
        self._run(GiveInputsRequest())
        # Nothing is poisoned: what code computes when its outputs are is of the inputs before.
        self._run(RunRequest(poison=False, reads=True))
        self.compare(distribution, expected.others or expected.files[distribution], ON_OTHER_INPUTS)
        for turn, expectation in expected.other_operands.items():
            self._check_other_operands(distribution, turn, expectation)

    def _check_other_operands(self, distribution: str, turn: int, expectation: Path) -> None:
        """Check a call that was bound again, to the same arrays, with another mask and the like in them."""
        self._run(ChangeInputsRequest(number=AS_DRAWN))
        try:
            self._run(ChangeOperandsRequest(seed=self.seed, turn=turn))
        except CheckFailure as failed:
            if failed.failure.status is Status.UNSUPPORTED:  # a mask that leaves some query no key, say
                return
            raise
        self._run(RunRequest(reads=True))
        names = ", ".join(operands_of(self.record.case.problem))
        self.compare(distribution, expectation, WITH_OTHER_OPERANDS.format(names))

    def compare(self, distribution: str, expectation: Path, when: str = "", *, repeats: bool = False) -> None:
        """Compare the last run's output with what the oracle expects."""
        name = f"{self.record.case.id}-{distribution}{'-other' if when else ''}.npz"
        file = None if self.dump is None else self.dump / name
        keep = None if when else self.keep.get(distribution)
        request = CheckRequest(expectation=expectation, dump=file, keep=keep, repeats=repeats)
        _compare(self.worker, self.record, distribution, request, self.timeout_s, when)

    def _run(self, request: Request[Any]) -> None:
        _asked("run", self.worker, request, self.timeout_s)


def _asked(phase: str, worker: WorkerProcess, request: Request[Answer], timeout_s: float) -> Answer:
    """Return what a worker answers; raises `CheckFailure` of the phase when it fails."""
    try:
        return worker.request(request, timeout_s)
    except WorkerFailure as failure:
        raise CheckFailure(phase, failure) from failure


def _run(worker: WorkerProcess, record: CaseRecord, timeout_s: float) -> None:
    ran = _asked("run", worker, RunRequest(reads=True), timeout_s)
    if record.executor not in EMULATING:
        record.peak_bytes = max(ran.peak_bytes, record.peak_bytes or 0)


def _compare(
    worker: WorkerProcess,
    record: CaseRecord,
    distribution: str,
    request: CheckRequest,
    timeout_s: float,
    when: str,
) -> None:
    verdict = _asked("check", worker, request, timeout_s)
    record.note_verdict(verdict, distribution)
    if not verdict.ok:
        reason = when + _wrong_reason(verdict, distribution, request.dump)
        wrong = WorkerFailure(Status.WRONG, reason, log=worker.log())
        raise CheckFailure("check", wrong)


def wrong_output(verdict: Checked, distribution: str, when: str, log: str) -> WorkerFailure:
    """Return the failure of a case whose output is wrong; `when` is said first."""
    return WorkerFailure(Status.WRONG, when + _wrong_reason(verdict, distribution, None), log=log)


def _wrong_reason(verdict: Checked, distribution: str, dump: Path | None) -> str:
    """Return what is wrong with an output, on one line."""
    times = beside_limit(verdict.error_ratio)
    reason = f"error {verdict.max_abs_error:.2g}, tolerance {verdict.tolerance:.2g}, {times} times as large"
    place = f"; first bad: {verdict.first_bad}" if verdict.first_bad else ""
    details = f"; {verdict.details}" if verdict.details else ""
    arrays = f"; arrays: {dump.name}" if dump is not None else ""
    return f"{reason} ({distribution} inputs{place}{details}{arrays})"

"""Checking a built case in its worker: poisoned memory, every input distribution, the oracle's verdict."""

from pathlib import Path

from harness.artifact.artifact import EMULATING
from harness.bench.row_maker import CaseRecord
from harness.bench.running.check_requests import (
    BindRequest,
    CheckRequest,
    LoadRequest,
    OtherInputsRequest,
    RunRequest,
)
from harness.bench.running.expectations import ExpectationFiles
from harness.bench.workers.process import WorkerFailure, WorkerProcess
from harness.bench.workers.protocol import Answer, Checked, Request
from harness.problem.changing_inputs import AS_DRAWN, NEGATED, TURNED, operands_of
from harness.reporting.units import beside_limit
from harness.system.status import Status

EMULATOR = "emulator"
"""The executor whose launches are executed twice each anyway, and take long."""
ON_OTHER_INPUTS = "right on its first inputs, and wrong on others: "
WITH_OTHER_OPERANDS = "right on its first inputs, and wrong when it is bound again with other values of {}: "


class CheckFailure(Exception):  # noqa: N818 - an outcome of a case, not a fault of the harness
    """A case did not pass: in which phase, and what became of it."""

    def __init__(self, phase: str, failure: WorkerFailure) -> None:
        super().__init__(f"{phase}: {failure}")
        self.phase = phase
        self.failure = failure


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
    checking = _Checking(worker, record, seed, timeout_s, dump)
    with record.elapsing():
        checking.load()
        if record.executor != EMULATOR:
            checking.check_repeatedly(expected, keep)
        for distribution, file in expected.files.items():
            checking.check_once(distribution, file, keep if distribution == expected.first else None)


class _Checking:
    """The check of one case in its worker."""

    def __init__(
        self, worker: WorkerProcess, record: CaseRecord, seed: int, timeout_s: float, dump: Path | None
    ) -> None:
        self._worker = worker
        self._record = record
        self._seed = seed
        self._timeout_s = timeout_s
        self._dump = dump

    def load(self) -> None:
        """Load the case's code."""
        record = self._record
        if record.folder is None:
            raise ValueError(f"{record.case.id} has not been built")
        request = LoadRequest(folder=record.folder, code=dict(record.code))
        loaded = self._asked("load", request)
        record.driver_metrics = loaded.metrics

    def check_repeatedly(self, expected: ExpectationFiles, keep: Path | None) -> None:
        """Check calls on inputs that are the same, and on others; what memory they take does not count."""
        distribution, first = expected.first, expected.files[expected.first]
        self._asked("load", BindRequest(distribution=distribution, seed=self._seed, changes=True))
        self._asked("run", RunRequest())
        self._asked("run", RunRequest(poison=False, reads=True))
        self._compare(distribution, CheckRequest(expectation=first, keep=keep, repeats=True))
        number = NEGATED if expected.others is None else TURNED
        self._asked("run", OtherInputsRequest(number=number, seed=self._seed))
        # Nothing is poisoned: what code computes when its outputs are is of the inputs before.
        self._asked("run", RunRequest(poison=False, reads=True))
        request = CheckRequest(expectation=expected.others or first)
        self._compare(distribution, request, ON_OTHER_INPUTS)
        for turn, file in expected.other_operands.items():
            self._check_other_operands(distribution, turn, file)

    def _check_other_operands(self, distribution: str, turn: int, expectation: Path) -> None:
        """Check a call that was bound again, to the same arrays, with another mask and the like in them."""
        try:
            self._asked("run", OtherInputsRequest(number=AS_DRAWN, seed=self._seed, operands=turn))
        except CheckFailure as failed:
            if failed.failure.status is Status.UNSUPPORTED:  # a mask that leaves some query no key, say
                return
            raise
        self._asked("run", RunRequest(reads=True))
        names = ", ".join(operands_of(self._record.case.problem))
        self._compare(distribution, CheckRequest(expectation=expectation), WITH_OTHER_OPERANDS.format(names))

    def check_once(self, distribution: str, expectation: Path, keep: Path | None) -> None:
        """Check a call in fresh memory, and note what memory it takes."""
        self._asked("load", BindRequest(distribution=distribution, seed=self._seed))
        ran = self._asked("run", RunRequest(reads=True))
        if self._record.executor not in EMULATING:
            self._record.peak_bytes = max(ran.peak_bytes, self._record.peak_bytes or 0)
        self._compare(distribution, CheckRequest(expectation=expectation, keep=keep))

    def _compare(self, distribution: str, request: CheckRequest, when: str = "") -> None:
        """Compare the last run's output with what the oracle expects."""
        if self._dump is not None:
            name = f"{self._record.case.id}-{distribution}{'-other' if when else ''}.npz"
            request = request.model_copy(update={"dump": self._dump.absolute() / name})
        verdict = self._asked("check", request)
        self._record.note_verdict(verdict, distribution)
        if not verdict.ok:
            failure = wrong_output(verdict, distribution, when, self._worker.log(), request.dump)
            raise CheckFailure("check", failure)

    def _asked(self, phase: str, request: Request[Answer]) -> Answer:
        """Return what the worker answers; raises `CheckFailure` of the phase when it fails."""
        try:
            return self._worker.request(request, self._timeout_s)
        except WorkerFailure as failure:
            raise CheckFailure(phase, failure) from failure


def wrong_output(
    verdict: Checked, distribution: str, when: str, log: str, dump: Path | None = None
) -> WorkerFailure:
    """Return the failure of a case whose output is wrong, on one line; `when` is said first."""
    times = beside_limit(verdict.error_ratio)
    reason = f"error {verdict.max_abs_error:.2g}, tolerance {verdict.tolerance:.2g}, {times} times as large"
    place = f"; first bad: {verdict.first_bad}" if verdict.first_bad else ""
    details = f"; {verdict.details}" if verdict.details else ""
    arrays = f"; arrays: {dump.name}" if dump is not None else ""
    inputs = f"({distribution} inputs{place}{details}{arrays})"
    return WorkerFailure(Status.WRONG, f"{when}{reason} {inputs}", log=log)

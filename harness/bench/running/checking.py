"""Checking a built case in its worker: poisoned memory, every input distribution, the oracle's verdict."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from harness.artifact.artifact import EMULATING
from harness.bench.row_maker import CaseRecord
from harness.bench.running.check_requests import (
    bind_inputs,
    change_inputs,
    check_outputs,
    load_code,
    run_call,
)
from harness.bench.running.expectations import ExpectationFiles
from harness.bench.workers.process import WorkerFailure, WorkerProcess
from harness.bench.workers.protocol import Answer, Request
from harness.oracle.expected import Verdict
from harness.problem.changing_inputs import AS_DRAWN, NEGATED, TURNED, operands_of
from harness.reporting.units import beside_limit
from harness.system.status import Status

EMULATOR = "emulator"
"""The executor whose launches are executed twice each anyway, and take long."""
ON_OTHER_INPUTS = "right on its first inputs, and wrong on others: "
WITH_OTHER_OPERANDS = "right on its first inputs, and wrong when it is bound again with other values of {}: "


@dataclass(frozen=True)
class CaseCheck:
    """The check of one built case in its worker."""

    worker: WorkerProcess
    record: CaseRecord
    expected: ExpectationFiles
    seed: int
    timeout_s: float
    """Of each step."""
    dump: Path | None = None
    keep: Path | None = None
    """File for the outputs for the first distribution, right or wrong."""

    def run(self) -> None:
        """Load the case and compare its output with what the oracle expects of each input distribution.

        The first distribution is run in fresh memory, again on what that call has left, and some more times
        if that takes no time to speak of; then on other inputs, with other scores or else with the other
        sign; bound again with other masks, biases, sinks and weights; and once more in fresh memory.  So code
        is seen that leaves a part of the output as it found it, keeps what it has computed or converted
        before, works only the first time, or not always.  Not so on the emulator, where each launch is
        executed in two orders of lanes, from the same memory, anyway.  Code that changes its inputs is wrong.

        Notes verdict and memory in the record.  Raises `WorkerFailure`, with the `phase`, at the first output
        outside the tolerance, or when the worker fails.
        """
        with self.record.elapsing():
            self._load()
            if self.record.executor != EMULATOR:
                self._check_repeatedly()
            for distribution, file in self.expected.files.items():
                self._check_once(distribution, file)

    def _load(self) -> None:
        record = self.record
        if record.folder is None:
            raise ValueError(f"{record.case.id} has not been built")
        request = partial(
            load_code,
            folder=record.folder,
            case=record.case,
            code=dict(record.code),
            candidate=record.candidate,
        )
        candidate, record.driver_metrics = self._asked("load", request)
        record.note_candidate(candidate)

    def _check_repeatedly(self) -> None:
        """Check calls on inputs that are the same, and on others; what memory they take does not count."""
        expected, distribution = self.expected, self.expected.first
        first = expected.files[distribution]
        self._asked("load", partial(bind_inputs, distribution=distribution, seed=self.seed, changes=True))
        self._asked("run", run_call)
        self._asked("run", partial(run_call, poison=False, reads=True))
        self._compare(distribution, first, repeats=True)
        number = NEGATED if expected.others is None else TURNED
        self._asked("run", partial(change_inputs, number=number, seed=self.seed))
        # Nothing is poisoned: what code computes when its outputs are is of the inputs before.
        self._asked("run", partial(run_call, poison=False, reads=True))
        self._compare(distribution, expected.others or first, ON_OTHER_INPUTS)
        for turn, file in expected.other_operands.items():
            self._check_other_operands(distribution, turn, file)

    def _check_other_operands(self, distribution: str, turn: int, expectation: Path) -> None:
        """Check a call that was bound again, to the same arrays, with another mask and the like in them."""
        try:
            request = partial(change_inputs, number=AS_DRAWN, seed=self.seed, operands=turn)
            self._asked("run", request)
        except WorkerFailure as failure:
            if failure.status is not Status.UNSUPPORTED:  # a mask that leaves some query no key, say
                raise
            self._asked("load", partial(bind_inputs, distribution=distribution, seed=self.seed, changes=True))
            return
        self._asked("run", partial(run_call, reads=True))
        names = ", ".join(operands_of(self.record.case.problem))
        self._compare(distribution, expectation, WITH_OTHER_OPERANDS.format(names))

    def _check_once(self, distribution: str, expectation: Path) -> None:
        """Check a call in fresh memory, and note what memory it takes."""
        self._asked("load", partial(bind_inputs, distribution=distribution, seed=self.seed))
        peak_bytes = self._asked("run", partial(run_call, reads=True))
        if self.record.executor not in EMULATING:
            self.record.peak_bytes = max(peak_bytes, self.record.peak_bytes or 0)
        self._compare(distribution, expectation)

    def _compare(
        self, distribution: str, expectation: Path, other: str = "", *, repeats: bool = False
    ) -> None:
        """Compare the last run's output with what the oracle expects; `other` says of which other inputs."""
        keep = self.keep if distribution == self.expected.first and not other else None
        dump = None
        if self.dump is not None:
            name = f"{self.record.case.id}-{distribution}{'-other' if other else ''}.npz"
            dump = self.dump.absolute() / name
        request = partial(check_outputs, expectation=expectation, dump=dump, keep=keep, repeats=repeats)
        verdict = self._asked("check", request)
        self.record.note_verdict(verdict, distribution)
        if not verdict.ok:
            raise wrong_output(verdict, distribution, other, self.worker.log(), dump)

    def _asked(self, phase: str, request: Request[Answer]) -> Answer:
        try:
            return self.worker.request(request, self.timeout_s)
        except WorkerFailure as failure:
            raise replace(failure, phase=phase) from failure


def wrong_output(
    verdict: Verdict, distribution: str, when: str, log: str, dump: Path | None = None
) -> WorkerFailure:
    """Return the failure of a case whose output is wrong, on one line; `when` is said first."""
    times = beside_limit(verdict.error_ratio)
    reason = f"error {verdict.max_abs_error:.2g}, tolerance {verdict.tolerance:.2g}, {times} times as large"
    place = f"; first bad: {verdict.first_bad}" if verdict.first_bad else ""
    details = f"; {verdict.details}" if verdict.details else ""
    arrays = f"; arrays: {dump.name}" if dump is not None else ""
    inputs = f"({distribution} inputs{place}{details}{arrays})"
    return WorkerFailure(Status.WRONG, f"{when}{reason} {inputs}", log=log)

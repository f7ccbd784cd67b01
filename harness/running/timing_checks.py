"""What is asked of candidates once they are timed: are their outputs right, and their times possible?"""

import contextlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from statistics import median

from harness import plugins
from harness.artifact.bound_call import Sample
from harness.artifact.device_facts import DeviceFacts
from harness.code_packages import code_packages
from harness.digest import OWN_PACKAGE
from harness.measure.rounds import TimedRound
from harness.problem.changing_inputs import EXACT, TURNED
from harness.results.row_maker import CaseRecord
from harness.running.checking import AFTER_TIMING, COMPUTES_LATER, CheckFailure, check_after_timing
from harness.running.context import RunContext
from harness.running.distrust import (
    CONFIRMATIONS,
    MOST_TIMES_THE_PEAK,
    beyond_the_peak,
    distrust,
    distrust_of_reading_in_place,
    persists,
)
from harness.running.outside_clock import OutsideClock, OutsideTimes
from harness.running.peak_names import name_peak
from harness.status import Status
from harness.workers.process import WorkerFailure, WorkerProcess
from harness.workers.protocol import (
    ChangeInputsRequest,
    Checked,
    CheckRequest,
    Done,
    GiveInputsRequest,
    InputsGiven,
    ReadTwice,
    ReadTwiceRequest,
)


class TimingChecks:
    """Drops candidates of a group that are not to be trusted."""

    def __init__(
        self,
        context: RunContext,
        records: Mapping[str, CaseRecord],
        workers: Mapping[str, WorkerProcess],
        sample: Callable[[str, int], Sample],
        drop: Callable[[str, WorkerFailure], None],
    ) -> None:
        """Check the candidates that have `workers`, from which `drop` removes one.

        `sample` takes a sample of a candidate with inputs of a number.
        """
        self._context = context
        self._records = records
        self._workers = workers
        self._sample_with = sample
        self._drop = drop

    def check_outputs(self, bound: Collection[str]) -> None:
        """Drop candidates whose output is not right any more when samples are taken.

        What they computed may be something else than what was checked, or the output of other inputs.
        """
        for case_id in self._workers.keys() & set(bound):
            try:
                for number in range(EXACT):
                    self._check_output(case_id, number)
            except CheckFailure as failed:
                self._drop(case_id, failed.failure)
            except WorkerFailure as failure:
                self._drop(case_id, failure)

    def _check_output(self, case_id: str, number: int) -> None:
        """Check what a sample with inputs of a number gives; raises `CheckFailure` or `WorkerFailure`.

        Its output is read first when inputs are others already: code that computes only then gives another.
        """
        self._sample_with(case_id, number)
        self._change_inputs(case_id, number + EXACT, spoils_operands=True)
        later: CheckFailure | None = None
        try:
            self._compare(case_id, COMPUTES_LATER, of_parts=False)
        except CheckFailure as failed:
            later = failed if failed.failure.status is Status.WRONG else None
        self._change_inputs(case_id, number)
        self._compare(case_id, AFTER_TIMING)
        if later is not None:
            raise later
        if number + EXACT == TURNED:
            self._require_output_of_the_call(case_id, number)

    def _require_output_of_the_call(self, case_id: str, number: int) -> None:
        """Raise `CheckFailure` for code that computes when it takes other inputs: it has their output then.

        What becomes of the output otherwise does not matter: a call may make another when it takes inputs.
        Where both outputs are the same, nothing can be said.
        """
        worker, limit_s = self._workers[case_id], self._context.step_limit_s
        case = self._records[case_id].case
        distribution = self._context.experiment.check_of(case).distributions[0]
        expectation = self._context.expectations.file_of_others(case.problem, distribution)
        if expectation is None:
            return
        self._sample_with(case_id, number)
        self._change_inputs(case_id, TURNED)
        request = CheckRequest(expectation=expectation, of_parts=False)
        with self._records[case_id].elapsing():
            if worker.request(request, limit_s, Checked).ok:
                return
            given = worker.request(GiveInputsRequest(rebinds=False), limit_s, InputsGiven)
            if not given.is_in_place:
                return
            with contextlib.suppress(WorkerFailure):  # it may have no output then
                if worker.request(request, limit_s, Checked).ok:
                    reason = f"{COMPUTES_LATER}it is theirs"
                    raise CheckFailure("check", WorkerFailure(Status.WRONG, reason))

    def _change_inputs(self, case_id: str, number: int, *, spoils_operands: bool = False) -> None:
        """Change the arrays that a candidate was bound to, and do not tell it."""
        with self._records[case_id].elapsing():
            request = ChangeInputsRequest(number=number, spoils_operands=spoils_operands)
            self._workers[case_id].request(request, self._context.step_limit_s, Done)

    def _compare(self, case_id: str, when: str, *, of_parts: bool = True) -> None:
        """Compare an output with what is expected; raises `CheckFailure`."""
        record = self._records[case_id]
        distribution = self._context.experiment.check_of(record.case).distributions[0]
        expected = self._context.expectations.files(record.case.problem, (distribution,))
        request = CheckRequest(expectation=expected[distribution], of_parts=of_parts)
        limit_s = self._context.step_limit_s
        check_after_timing(self._workers[case_id], record, distribution, request, limit_s, when)

    def check_times(
        self,
        rounds: Sequence[TimedRound],
        outside_times: Mapping[str, Mapping[int, OutsideTimes]],
        numbers: Iterable[int],
    ) -> None:
        """Drop candidates whose own clock says something else than this process's."""
        claims: dict[str, float] = {}
        for case_id, outside in outside_times.items():
            all_of_it = [taken for taken in rounds if case_id in taken.seconds]
            own = [taken for taken in all_of_it if taken.start in outside] or all_of_it
            if case_id not in self._workers or not own:
                continue
            claimed = median(taken.seconds[case_id] for taken in own)
            is_of_device = self._records[case_id].executor == "device"
            facts = [taken.device[case_id] for taken in own if case_id in taken.device]
            launch = DeviceFacts.typical(facts).launch_s or 0.0 if is_of_device else 0.0
            failure = distrust(outside.values(), claimed, launch, is_of_device=is_of_device)
            if failure is not None:
                clock = OutsideClock(
                    self._workers[case_id], self._context.step_limit_s, numbers, confirms=True
                )
                self._drop_unless_by_chance(case_id, failure, clock, (claimed, launch, is_of_device))
            if case_id in self._workers and not is_of_device:
                self._check_reading(case_id, outside, claimed, numbers)
            if case_id in self._workers:
                claims[case_id] = claimed
        self.drop_what_is_impossible(claims)

    def _check_reading(
        self,
        case_id: str,
        outside: Mapping[int, OutsideTimes],
        claimed_s: float,
        numbers: Iterable[int],
    ) -> None:
        """Drop a candidate that computes when its outputs are read, each time."""
        failure = distrust_of_reading_in_place(outside.values(), claimed_s)
        if failure is None:
            return
        worker, limit_s = self._workers[case_id], self._context.step_limit_s
        clock = OutsideClock(worker, limit_s, numbers, confirms=True)
        try:
            with self._records[case_id].elapsing():
                if not worker.request(ReadTwiceRequest(), limit_s, ReadTwice).is_computed_again:
                    return
                for _ in range(CONFIRMATIONS):
                    if distrust_of_reading_in_place([clock.times()], claimed_s) is None:
                        return
        except CheckFailure as failed:
            failure = failed.failure
        except WorkerFailure as failed:
            failure = failed
        self._drop(case_id, failure)

    def drop_what_is_impossible(self, claims: Mapping[str, float]) -> None:
        """Drop candidates that say they are far faster than the peak, unless it is the peak that is wrong.

        So it is where all candidates are: it is measured by code that may err, in a unit, say.  One variant
        alone is believed before a plugin's peak, and not before one of this package.
        """
        found = {case_id: self._beyond_the_peak(case_id, claimed) for case_id, claimed in claims.items()}
        impossible = {case_id: failure for case_id, failure in found.items() if failure is not None}
        if impossible and len(impossible) == len(claims):
            case = self._records[next(iter(claims))].case
            variants = {self._records[case_id].case.variant for case_id in claims}
            is_of_a_plugin = code_packages(plugins.target(case.target)) != {OWN_PACKAGE}
            if len(variants) > 1 or is_of_a_plugin:
                faster = f"all {len(claims)} timed cases are" if len(claims) > 1 else "the timed case is"
                reason = f"{faster} more than {MOST_TIMES_THE_PEAK:g} times as fast: {case.describe()}"
                self._context.peaks.disbelieve(name_peak(case).name, reason)
                return
        for case_id, failure in impossible.items():
            self._drop(case_id, failure)

    def _beyond_the_peak(self, case_id: str, claimed_s: float) -> WorkerFailure | None:
        """Return why a time cannot be, where the peak is that of the problem's own type, or None.

        What a boolean mask hides counts as operations, and need not be computed.
        """
        case = self._records[case_id].case
        peak, dtype = self._context.peaks.of(case), case.problem.dtype
        if peak is None or peak.flops is None or case.problem.mask:
            return None
        named = name_peak(case)
        if named.dtype != dtype or named.name in self._context.peaks.disbelieved:
            return None
        return beyond_the_peak(case.problem.flops(), claimed_s, peak.flops)

    def _drop_unless_by_chance(
        self, case_id: str, failure: WorkerFailure, clock: OutsideClock, told: tuple[float, float, bool]
    ) -> None:
        """Drop a candidate whose time is not to be trusted, if that is so whenever its calls are timed.

        `told` are what it claims, what a launch takes, and whether a device computes it, see `persists`.
        """
        try:
            with self._records[case_id].elapsing():
                claimed, launch, is_of_device = told
                is_wrong = persists(clock, claimed, launch, is_of_device=is_of_device)
        except CheckFailure as failed:
            failure, is_wrong = failed.failure, True
        if is_wrong:
            self._drop(case_id, failure)

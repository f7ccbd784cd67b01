"""Timing candidates against each other: they take turns, round by round, until the ratios are known.

On a shared machine times drift by tens of percent, ratios of neighbours in time by one, and the nearer the
neighbours the less.  So a round consists of quick turns: in each every candidate has one short sample, in an
order that differs from turn to turn (`harness.measure.order`), and what was faster or slower for all in a
turn is taken off (`harness.measure.turns`).  Candidates are compared within rounds.

A process keeps its luck, where its memory and its code lie, as long as it lives; so candidates are started
anew some times, with rounds in each start (`harness.measure.statistics.nested_interval`).  Nothing in here
knows of processes: the caller gives the sampler and what starts candidates.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import psutil

from harness.artifact.bound_call import Sample
from harness.artifact.device_facts import DeviceFacts
from harness.experiment.settings import TimingSettings
from harness.measure.order import balanced_orders
from harness.measure.order_effects import times_after
from harness.measure.statistics import min_samples, nested_interval, paired_ratio, relative_width
from harness.measure.turns import typical_seconds
from harness.workers.process import WorkerFailure

LOAD_WINDOW_S = 1.0
"""Load is averaged over at least this long: the kernel counts processor time in hundredths of a second."""

LEAST_ROUNDS = min_samples()
"""Rounds that are taken even when the budget is spent: fewer bound nothing at 95 %."""

LEAST_STARTS = 3
"""Starts that are made even when the budget is spent, if as many are asked for: of two, t is 12.7."""

ROUNDS_OF_A_START = 2
"""Rounds that are taken of a start, however dear."""

TURN_S = 0.001
"""A sample in a turn repeats the call until it lasts this long: what disturbs a machine changes in tens of
milliseconds, and neighbours in time share it."""


@dataclass(frozen=True)
class PeakSample:
    """What the machine did at most in a moment in which nothing else was asked of it."""

    flops: float | None = None
    """FLOP/s."""
    bandwidths: Mapping[str, float] = field(default_factory=dict)
    """Bytes/s by level of memory."""


@dataclass(frozen=True)
class TimedRound:
    """Some quick turns of every candidate."""

    seconds: dict[str, float]
    """Time of one call by case id, typical of the turns (`harness.measure.turns.typical_seconds`)."""
    load: float
    """Share of the machine's processors that others used meanwhile."""
    start: int = 0
    """Which start of the candidates it belongs to."""
    device: dict[str, DeviceFacts] = field(default_factory=dict)
    """What a device tells besides, the typical of its samples; where it was slowed down in all, of those."""
    throttled: dict[str, str] = field(default_factory=dict)
    """Why samples are not counted: the device was slowed down."""
    peak: PeakSample = PeakSample()
    """A sample of the machine's peak."""
    after: dict[str, dict[str, float]] = field(default_factory=dict)
    """A candidate's time right after each other one, over its own, see `harness.measure.order_effects`."""


class Load(Protocol):
    """Measures how much of the machine others use."""

    def start(self) -> None:
        """Begin to measure."""

    def share(self) -> float:
        """Return the share of the processors, 0 to 1, that others used since the start."""


class Starter(Protocol):
    """Gives candidates new lives."""

    def __call__(self, number: int, candidates: Sequence[str]) -> Mapping[str, WorkerFailure]:
        """Start these candidates anew, for start `number`, and return those that failed."""


def no_starter(number: int, candidates: Sequence[str]) -> Mapping[str, WorkerFailure]:
    """Leave candidates as they are."""
    return {}


class RoundTimer:
    """Starts candidates, samples them in turns and decides when it is enough.

    A round has so many turns that every candidate is sampled for about `min_sample_s`.

    Rounds of a start go on until they have taken as long as starting took: what an interval gains for the
    time is then at least half of what the best share between starts and rounds would gain, however start and
    round compare in time and in variance.  A start also ends with its share of budget and of `max_rounds`.

    It is enough when, after `min_rounds` and `starts`, the 95 % interval of every candidate's paired ratio to
    the baseline (without a baseline: of its own time) is at most `interval` wide at the end of a start; or
    when `budget_s` is spent and there are `LEAST_ROUNDS` rounds and `LEAST_STARTS` starts, or as many as are
    asked for; or after `max_rounds`.  A candidate whose single sample takes longer than the whole budget is
    sampled once.  A candidate that fails leaves, and the others go on.  Samples from a device that was slowed
    down are not counted; after `LEAST_ROUNDS` of them none is waited for.
    """

    def __init__(
        self,
        candidates: Sequence[str],
        baseline: str | None,
        settings: TimingSettings,
        *,
        sample: Callable[[str], Sample],
        on_round: Callable[[TimedRound, int, dict[str, float]], None],
        on_failure: Callable[[str, WorkerFailure], None],
        load: Load,
        starter: Starter = no_starter,
        sample_peak: Callable[[], PeakSample] = PeakSample,
        history: Iterable[TimedRound] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare to time `candidates` (case ids), of which `baseline` is one.

        `starter` is called before the rounds of each start.  `sample` takes one sample, or raises
        `WorkerFailure`, which goes to `on_failure`; `sample_peak` takes one of the machine's peak.
        `on_round` gets every finished round, its number from 0 and the relative width of each candidate's
        interval at the end of the last start.  `history` holds rounds of an interrupted run, which count as
        if they were taken now.
        """
        self.candidates = list(candidates)
        self.rounds = list(history)
        self._baseline = baseline
        self._settings = settings
        self._sample = sample
        self._on_round = on_round
        self._on_failure = on_failure
        self._load = load
        self._starter = starter
        self._sample_peak = sample_peak
        self._clock = clock
        self._slow: set[str] = set()
        self._turns = 0
        self._widths: dict[str, float] = {}

    def run(self) -> list[TimedRound]:
        """Take rounds until it is enough, and return all rounds, those of the history first."""
        self._began = self._clock() - self._seconds_in_history()
        starts = {taken.start for taken in self.rounds}
        self._starts, self._start = len(starts), max(starts, default=-1)
        self._widths = self.widths()
        while not self._is_enough():
            self._begin_start()
            while not self._start_is_over():
                self._take_round()
            self._widths = self.widths()
        return self.rounds

    def widths(self) -> dict[str, float]:
        """Return the relative width of each candidate's interval, by which the end is decided."""
        return {
            candidate: self._width(candidate)
            for candidate in self.candidates
            if candidate not in self._slow and (candidate != self._baseline or len(self.candidates) == 1)
        }

    def _begin_start(self) -> None:
        """Give the candidates that still have turns new lives, and warm them up with a sample each."""
        began = self._clock()
        self._start += 1
        self._starts += 1
        self._rounds_before = len(self.rounds)
        turns = [candidate for candidate in self.candidates if self._has_turn(candidate)]
        for candidate, failure in self._starter(self._start, turns).items():
            self._leave(candidate, failure)
        for candidate in turns:
            if candidate in self.candidates:
                self._take_sample(candidate)
        self._sampling_began = self._clock()
        self._start_took = self._sampling_began - began

    def _start_is_over(self) -> bool:
        """Return whether the candidates are to be started anew, or all is done."""
        if not any(self._has_turn(candidate) for candidate in self.candidates):
            return True
        taken = len(self.rounds) - self._rounds_before
        if taken == 0:
            return False
        if len(self.rounds) >= self._settings.max_rounds:
            return True
        if self._settings.starts == 1:
            return self._is_enough()
        if taken >= -(-self._settings.max_rounds // self._settings.starts):
            return True
        if taken < ROUNDS_OF_A_START:
            return False
        now, share = self._clock(), min(1.0, self._starts / self._settings.starts)
        is_spent = now - self._began >= share * self._settings.budget_s
        return is_spent or now - self._sampling_began >= self._start_took

    def _take_round(self) -> None:
        """Sample every candidate in a few turns."""
        self._load.start()
        peak = self._sample_peak()
        began = self._clock()
        samples: dict[str, list[Sample]] = {}
        self._predecessors: dict[str, list[str | None]] = {}
        self._last: str | None = None
        self._take_turn(samples)
        while samples and self._clock() - began < self._settings.min_sample_s * len(samples):
            self._take_turn(samples)
        if samples:
            taken = _round_of(samples, self._load.share(), self._start, peak)
            self.rounds.append(
                replace(taken, after=times_after(_counted_seconds(samples), self._predecessors))
            )
            if self._settings.starts == 1:
                self._widths = self.widths()
            self._on_round(self.rounds[-1], len(self.rounds) - 1, self._widths)

    def _take_turn(self, samples: dict[str, list[Sample]]) -> None:
        """Sample every candidate once, in the order of this turn, and add the samples to the others."""
        orders = balanced_orders(len(self.candidates))
        order = [self.candidates[place] for place in orders[self._turns % len(orders)]]
        self._turns += 1
        for candidate in order:
            if self._has_turn(candidate):
                sample = self._take_sample(candidate)
                if sample is not None:
                    samples.setdefault(candidate, []).append(sample)
                    self._predecessors.setdefault(candidate, []).append(self._last)
                else:
                    samples.pop(candidate, None)
                self._last = candidate

    def _take_sample(self, candidate: str) -> Sample | None:
        """Return a sample, or None when the candidate has failed and left."""
        start = self._clock()
        try:
            sample = self._sample(candidate)
        except WorkerFailure as failure:
            self._leave(candidate, failure)
            return None
        took = self._clock() - start
        if took > self._settings.budget_s:
            self._slow.add(candidate)
        return sample

    def _leave(self, candidate: str, failure: WorkerFailure) -> None:
        """Go on without a candidate."""
        self.candidates.remove(candidate)
        if candidate == self._baseline:
            self._baseline = None
        self._on_failure(candidate, failure)

    def _has_turn(self, candidate: str) -> bool:
        return candidate not in self._slow or not self._has_sample(candidate)

    def _has_sample(self, candidate: str) -> bool:
        """Return whether a candidate has a sample, or was slowed down so often that none is expected."""
        rejected = sum(candidate in taken.throttled for taken in self.rounds)
        return rejected >= LEAST_ROUNDS or any(candidate in taken.seconds for taken in self.rounds)

    def _is_enough(self) -> bool:
        if not any(self._has_turn(candidate) for candidate in self.candidates):
            return True
        if not all(self._has_sample(candidate) for candidate in self.candidates):
            return False
        count, starts = len(self.rounds), self._settings.starts
        if count >= self._settings.max_rounds:
            return True
        is_spent = self._clock() - self._began >= self._settings.budget_s
        if is_spent and count >= LEAST_ROUNDS and self._starts >= min(starts, LEAST_STARTS):
            return True
        if count < self._settings.min_rounds or self._starts < starts:
            return False
        return all(width <= self._settings.interval for width in self._widths.values())

    def _width(self, candidate: str) -> float:
        own = [taken for taken in self.rounds if candidate in taken.seconds]
        baseline = self._baseline
        if baseline is not None and baseline != candidate:
            own = [taken for taken in own if baseline in taken.seconds]
        if not own:
            return float("inf")
        seconds, starts = [taken.seconds[candidate] for taken in own], [taken.start for taken in own]
        if baseline is None or baseline == candidate:
            return relative_width(nested_interval(seconds, starts))
        return relative_width(paired_ratio([taken.seconds[baseline] for taken in own], seconds, starts))

    def _seconds_in_history(self) -> float:
        """Return about how long the rounds of the history took: a sample lasts `min_sample_s` or one call."""
        return sum(
            max(seconds, self._settings.min_sample_s)
            for taken in self.rounds
            for seconds in taken.seconds.values()
        )


def _round_of(
    samples: Mapping[str, Sequence[Sample]], load: float, start: int, peak: PeakSample
) -> TimedRound:
    """Return a round of samples; those of a device that was slowed down do not count."""
    counted = {case: [one for one in taken if one.throttled is None] for case, taken in samples.items()}
    return TimedRound(
        seconds=typical_seconds(_counted_seconds(samples)),
        load=load,
        start=start,
        device={case: facts for case, taken in samples.items() if (facts := _facts(taken)) != DeviceFacts()},
        throttled={
            case: next(one.throttled for one in taken if one.throttled is not None)
            for case, taken in samples.items()
            if not counted[case]
        },
        peak=peak,
    )


def _counted_seconds(samples: Mapping[str, Sequence[Sample]]) -> dict[str, list[float | None]]:
    """Return the seconds of samples, None where the device was slowed down."""
    return {
        case: [one.seconds if one.throttled is None else None for one in taken]
        for case, taken in samples.items()
    }


def _facts(samples: Sequence[Sample]) -> DeviceFacts:
    """Return what is typical of the samples that count, or else of all."""
    counted = [sample.device for sample in samples if sample.throttled is None]
    return DeviceFacts.typical(counted or [sample.device for sample in samples])


class MachineLoad:
    """What others use of the machine: all processor time less that of this process and its workers."""

    def __init__(self, pids: Iterable[int]) -> None:
        """Count the processes of these ids, and this process, as ours."""
        self.follow(pids)

    def follow(self, pids: Iterable[int]) -> None:
        """Begin anew, with the processes of these ids, and this process, as ours."""
        self._processes = [psutil.Process()]
        for pid in pids:
            try:
                self._processes.append(psutil.Process(pid))
            except psutil.NoSuchProcess:
                continue
        self._restart()

    def start(self) -> None:
        """Begin to measure; what was measured of a window that is short still is kept."""
        _, total = machine_seconds()
        if total - self._total >= LOAD_WINDOW_S * (psutil.cpu_count() or 1):
            self._restart()

    def share(self) -> float:
        """Return the share of the processors, 0 to 1, that others used since the window began."""
        busy, total = machine_seconds()
        own = sum(seconds - self._own.get(pid, 0.0) for pid, seconds in self._own_seconds().items())
        if total <= self._total:
            return 0.0
        return min(1.0, max(0.0, (busy - self._busy - own) / (total - self._total)))

    def _restart(self) -> None:
        self._busy, self._total = machine_seconds()
        self._own = self._own_seconds()

    def _own_seconds(self) -> dict[int, float]:
        seconds = {}
        for process in self._processes:
            try:
                times = process.cpu_times()
            except psutil.Error:
                continue
            seconds[process.pid] = times.user + times.system
        return seconds


def machine_seconds() -> tuple[float, float]:
    """Return the processor seconds (busy, in total) of the whole machine since it started.

    What a hypervisor gave to other machines is busy; a guest's time is part of the user's time already.
    """
    times = psutil.cpu_times()._asdict()
    total = sum(seconds for name, seconds in times.items() if not name.startswith("guest"))
    return total - times["idle"] - times.get("iowait", 0.0), total

"""Timing candidates against each other: they take turns, round by round, until the ratios are known.

On a shared machine times drift by tens of percent, ratios of neighbours in time by one, and the nearer the
neighbours the less.  So in a round every candidate has one short sample, in an order that differs from round
to round (`harness.bench.measure.order`), and candidates are compared within rounds.  The peaks of the units
that they use take turns with them.

A process keeps its luck, where its memory and its code lie, as long as it lives; so candidates are started
anew some times, with rounds in each start (`harness.results.statistics.nested_interval`).  Nothing in here
knows of processes: the caller gives the sampler and what starts candidates.
"""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import psutil

from harness.artifact.bound_call import Sample
from harness.artifact.device_facts import DeviceFacts
from harness.bench.measure.allocation import best_rounds
from harness.bench.measure.order import balanced_orders
from harness.bench.workers.process import WorkerFailure
from harness.experiment.settings import TimingSettings
from harness.results.statistics import Interval, min_samples, nested_interval, relative_width
from harness.system.plurals import about

LOAD_WINDOW_S = 1.0
"""Load is averaged over about this long: the kernel counts processor time in hundredths of a second."""
LOOK_S = 0.1
"""And looked at no more often than this."""

LEAST_ROUNDS = min_samples()
"""Rounds that are taken even when the budget is spent: fewer bound nothing at 95 %."""

LEAST_STARTS = 5
"""Starts that are made even when the budget is spent, if as many are asked for: of three, t is 4.3."""

SAMPLING_OF_A_START = 4.5
"""A start is sampled so many times as long as all else takes in it: that is less than a fifth then."""

LEAST_SAMPLING_OF_A_START = 2.2
"""A start that is dear, as that of long calls, is sampled so many times as long as all else takes in it."""

LONGEST_WAIT_S = 86_400.0
"""A timing that would take longer than a day is none that anybody waits for."""

PEAKS_SHARE = 0.05
"""Peaks have a turn in every round where these take up to this part of the rounds' time, else in fewer."""

EXPECTED_STARTS = 12
"""Another start is sampled for no more than such a part of the budget: of few starts, intervals are wide."""


@dataclass(frozen=True)
class TimedRound:
    """One sample of every candidate."""

    seconds: dict[str, float]
    """Time of one call by case id."""
    load: float
    """Share of the machine's processors that others used meanwhile."""
    start: int = 0
    device: dict[str, DeviceFacts] = field(default_factory=dict)
    throttled: dict[str, str] = field(default_factory=dict)
    """Why samples are not counted: the device was slowed down."""
    peaks: Mapping[str, float] = field(default_factory=dict)
    """A sample of the peak of each unit that had a turn, in FLOP/s."""


Starter = Callable[[int, Sequence[str]], Mapping[str, WorkerFailure]]
"""Gives candidates new lives for a start of this number; returns those that failed."""


@dataclass
class RoundTimer:
    """Starts candidates, samples them in turns and decides when it is enough.

    The last round of each start is verified: what its samples leave is looked at.  Rounds go on for
    `SAMPLING_OF_A_START` times as long as all else takes in a start, or longer where starts hardly vary
    (`harness.bench.measure.allocation`), and no longer than the budget has for one of `EXPECTED_STARTS`.

    It is enough when, after `min_rounds` and `starts`, the 95 % interval of every candidate's paired ratio to
    the baseline (without a baseline: of its own time) is at most `interval` wide at the end of a start; or
    when `budget_s` is spent and there are `LEAST_STARTS` starts, or as many as are asked for, of a single one
    `LEAST_ROUNDS` rounds; or after `max_rounds`.  A candidate whose interval is narrow enough rests until
    then.  One whose single sample takes longer than the whole budget is sampled once.  A candidate that fails
    leaves, and the others go on.  Samples from a device that was slowed down are not counted; after
    `LEAST_ROUNDS` of them none is waited for.
    """

    candidates: list[str]
    """Case ids."""
    baseline: str | None
    settings: TimingSettings
    sample: Callable[..., Sample]
    """Takes one of a candidate, of inputs whose right output is known and looked at, if it `is_verified`."""
    on_round: Callable[[TimedRound, int, dict[str, float]], None]
    """Gets every finished round, its number from 0, and the relative width of each candidate's interval."""
    on_failure: Callable[[str, WorkerFailure], None]
    """Gets what `sample` raises, and what fails in a start."""
    load: "MachineLoad"
    starter: Starter = lambda number, candidates: {}
    finish_start: Starter = lambda number, candidates: {}
    """Are called before and after the rounds of each start."""
    units: Sequence[str] = ()
    """Units whose peaks take turns with the candidates."""
    sample_peak: Callable[[str], float | None] = lambda unit: None
    """Takes a sample of a unit's peak in FLOP/s; None where it cannot be had."""
    is_decided: Callable[[Interval], bool] = lambda interval: False
    """Whether an interval says enough, however wide it is."""
    history: Sequence[TimedRound] = ()
    """Rounds of an interrupted run, as if they were taken now; one more start looks at the candidates."""
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self.rounds = list(self.history)
        self._slow: set[str] = set()
        self._resting: set[str] = set()
        """Candidates whose intervals are narrow enough, while those of others are not."""
        self._turns = {False: 0, True: 0}
        """Rounds so far, without peaks and with them."""
        self._peaks_s = self._rounds_s = 0.0
        """Seconds spent on peaks, and on whole rounds."""
        self._widths: dict[str, float] = {}
        self._begin_took = self._round_s = self._end_took = 0.0
        """Seconds of the last start: before its rounds, of one of them, and after the last one."""

    def run(self) -> list[TimedRound]:
        """Take rounds until it is enough, and return all rounds, those of the history first."""
        self._began = self.clock() - self._seconds_in_history()
        starts = {taken.start for taken in self.rounds}
        self._starts, self._start = len(starts), max(starts, default=-1)
        self._widths = self.widths()
        while True:
            self._begin_start()
            while not self._only_one_round_is_left():
                self._take_round()
            self._take_round(is_verified=True)
            self._end_start()
            if self._is_enough():
                return self.rounds

    def widths(self) -> dict[str, float]:
        """Return the relative width of each candidate's interval, by which the end is decided."""
        return {
            candidate: self._width(candidate)
            for candidate in self.candidates
            if candidate not in self._slow and (candidate != self.baseline or len(self.candidates) == 1)
        }

    def missed(self) -> list[str]:
        """Return a line that says what the asked interval would take, where it is not reached."""
        widest = max((width for width in self._widths.values() if math.isfinite(width)), default=0.0)
        if widest <= self.settings.interval or self.clock() == self._began:
            return []
        would_take = (self.clock() - self._began) * (widest / self.settings.interval) ** 2
        wanted = "were asked" if "interval" in self.settings.model_fields_set else "is the default"
        is_possible = would_take <= LONGEST_WAIT_S
        cost = f"would take {about(would_take)}" if is_possible else "cannot be had on this machine now"
        return [
            f"the widest interval is {widest:.1%} of its value, {self.settings.interval:.1%} {wanted}: "
            f"that {cost}"
        ]

    def _begin_start(self) -> None:
        began = self.clock()
        self._start += 1
        self._starts += 1
        self._rounds_before = len(self.rounds)
        turns = [candidate for candidate in self.candidates if self._has_turn(candidate)]
        for candidate, failure in self.starter(self._start, turns).items():
            self._leave(candidate, failure)
        self._sampling_began = self.clock()
        self._begin_took = self._sampling_began - began
        self._sampling_s = self._sampling_seconds(self._begin_took + self._end_took)

    def _end_start(self) -> None:
        """Let the samples of the start be looked at, and see whose intervals are narrow."""
        began = self.clock()
        self._round_s = (began - self._sampling_began) / max(1, len(self.rounds) - self._rounds_before)
        turns = [candidate for candidate in self.candidates if self._has_turn(candidate)]
        for candidate, failure in self.finish_start(self._start, turns).items():
            self._leave(candidate, failure)
        self._widths = self.widths()
        if len(self.rounds) >= self.settings.min_rounds and self._starts >= self.settings.starts:
            self._resting = {
                candidate for candidate, width in self._widths.items() if width <= self.settings.interval
            }
        self._end_took = self.clock() - began

    def _only_one_round_is_left(self) -> bool:
        """Return whether the candidates are to be started anew after another round, or all is done then."""
        if not any(self._has_turn(candidate) for candidate in self.candidates):
            return True
        taken = len(self.rounds) - self._rounds_before
        most = self.settings.max_rounds
        if most is not None and len(self.rounds) >= most - 1:
            return True
        if self.settings.starts == 1:
            return taken > 0 and self._is_enough(coming=1)
        if most is not None and taken >= -(-most // self.settings.starts) - 1:
            return True
        now, share = self.clock(), min(1.0, self._starts / self.settings.starts)
        round_s = (now - self._sampling_began) / taken if taken else self._round_s
        if round_s == 0.0:
            return False
        end = now + round_s
        is_spent = end - self._began >= share * self.settings.budget_s
        return is_spent or end - self._sampling_began >= self._sampling_s

    def _sampling_seconds(self, start_s: float) -> float:
        """Return how long the rounds of a start are to take, beside which so much else takes."""
        least = SAMPLING_OF_A_START * start_s
        budget_s = self.settings.budget_s
        most = budget_s / EXPECTED_STARTS * SAMPLING_OF_A_START / (1 + SAMPLING_OF_A_START)
        most = max(most, min(LEAST_SAMPLING_OF_A_START * start_s, budget_s / LEAST_STARTS - start_s))
        best = min(
            (
                best_rounds(self._logarithms(candidate), start_s, self._round_s)
                for candidate, width in self._widths.items()
                if width > self.settings.interval
            ),
            default=1.0,
        )
        return min(max(least, best * self._round_s), most)

    def _logarithms(self, candidate: str) -> list[list[float]]:
        by_start: dict[int, list[float]] = {}
        for start, value in self._values(candidate):
            by_start.setdefault(start, []).append(math.log(value))
        return list(by_start.values())

    def _take_round(self, *, is_verified: bool = False) -> None:
        if not self.candidates:
            return
        began = self.clock()
        self.load.start()
        samples: dict[str, Sample] = {}
        peaks: dict[str, float] = {}
        for taker in self._next_order():
            if taker in self.units:
                peaks |= self._take_peak(taker)
                continue
            sample = self._take_sample(taker, is_verified) if self._has_turn(taker) else None
            if sample is not None:
                samples[taker] = sample
        self._rounds_s += self.clock() - began
        if samples:
            self.rounds.append(_round_of(samples, self.load.share(), self._start, peaks))
            if self.settings.starts == 1:
                self._widths = self.widths()
            self.on_round(self.rounds[-1], len(self.rounds) - 1, self._widths)

    def _next_order(self) -> list[str]:
        """Return who may have a turn in the next round, in order.

        Peaks have one in the first round of a start, and in others if they took little so far.
        """
        is_first = not any(taken.start == self._start for taken in self.rounds)
        with_peaks = bool(self.units) and (is_first or self._peaks_s <= PEAKS_SHARE * self._rounds_s)
        takers = [*self.candidates, *(self.units if with_peaks else ())]
        orders = balanced_orders(len(takers))
        order = orders[self._turns[with_peaks] % len(orders)]
        self._turns[with_peaks] += 1
        return [takers[place] for place in order]

    def _take_peak(self, unit: str) -> dict[str, float]:
        began = self.clock()
        flops = self.sample_peak(unit)
        self._peaks_s += self.clock() - began
        return {} if flops is None else {unit: flops}

    def _take_sample(self, candidate: str, is_verified: bool) -> Sample | None:
        """Return a sample, or None when the candidate has failed and left."""
        start = self.clock()
        try:
            sample = self.sample(candidate, is_verified=is_verified)
        except WorkerFailure as failure:
            self._leave(candidate, failure)
            return None
        took = self.clock() - start
        if took > self.settings.budget_s:
            self._slow.add(candidate)
        return sample

    def _leave(self, candidate: str, failure: WorkerFailure) -> None:
        self.candidates.remove(candidate)
        if candidate == self.baseline:
            self.baseline = None
        self.on_failure(candidate, failure)

    def _has_turn(self, candidate: str) -> bool:
        if candidate in self._resting:
            return False
        return candidate not in self._slow or not self._has_sample(candidate)

    def _has_sample(self, candidate: str) -> bool:
        """Return whether a candidate has a sample, or was slowed down so often that none is expected."""
        rejected = sum(candidate in taken.throttled for taken in self.rounds)
        return rejected >= LEAST_ROUNDS or any(candidate in taken.seconds for taken in self.rounds)

    def _is_enough(self, coming: int = 0) -> bool:
        """Return whether no more rounds are needed when so many have been taken besides."""
        if not any(self._has_turn(candidate) for candidate in self.candidates):
            return True
        if not all(self._has_sample(candidate) for candidate in self.candidates):
            return False
        count, starts = len(self.rounds) + coming, self.settings.starts
        if self.settings.max_rounds is not None and count >= self.settings.max_rounds:
            return True
        is_spent = self.clock() - self._began + self._least_start_s / 2 >= self.settings.budget_s
        least_rounds = LEAST_ROUNDS if starts == 1 else 1
        if is_spent and count >= least_rounds and self._starts >= min(starts, LEAST_STARTS):
            return True
        if count < self.settings.min_rounds or self._starts < starts:
            return False
        return all(width <= self.settings.interval for width in self._widths.values())

    @property
    def _least_start_s(self) -> float:
        """Seconds that another start takes at least: one of which half does not fit any more is not made."""
        return 0.0 if self.settings.starts == 1 else self._begin_took + self._round_s + self._end_took

    def _width(self, candidate: str) -> float:
        values = self._values(candidate)
        if not values:
            return float("inf")
        starts, own = zip(*values, strict=True)
        interval = nested_interval(own, starts)
        return 0.0 if self.is_decided(interval) else relative_width(interval)

    def _values(self, candidate: str) -> list[tuple[int, float]]:
        """Return start and value of each round: the paired ratio to the baseline, or the candidate's time."""
        own = [taken for taken in self.rounds if candidate in taken.seconds]
        baseline = self.baseline
        if baseline is None or baseline == candidate:
            return [(taken.start, taken.seconds[candidate]) for taken in own]
        both = [taken for taken in own if baseline in taken.seconds]
        return [(taken.start, taken.seconds[baseline] / taken.seconds[candidate]) for taken in both]

    def _seconds_in_history(self) -> float:
        """Return about how long the rounds of the history took: a sample lasts `min_sample_s` or one call."""
        return sum(
            max(seconds, self.settings.min_sample_s)
            for taken in self.rounds
            for seconds in taken.seconds.values()
        )


def _round_of(
    samples: Mapping[str, Sample], load: float, start: int, peaks: Mapping[str, float]
) -> TimedRound:
    """Return a round of samples; those of a device that was slowed down do not count."""
    return TimedRound(
        seconds={case: sample.seconds for case, sample in samples.items() if sample.throttled is None},
        load=load,
        start=start,
        device={case: sample.device for case, sample in samples.items() if sample.device != DeviceFacts()},
        throttled={
            case: sample.throttled for case, sample in samples.items() if sample.throttled is not None
        },
        peaks=peaks,
    )


class MachineLoad:
    """What others use of the machine: all processor time less that of this process and its workers."""

    def __init__(self, pids: Iterable[int]) -> None:
        """Count the processes of these ids, and this process, as ours."""
        self._began = self._looked = self._busy = self._total = self._share = 0.0
        self._own: dict[int, float] = {}
        self.follow(pids)

    def follow(self, pids: Iterable[int]) -> None:
        """Begin anew, with the processes of these ids, and this process, as ours."""
        self._processes = [psutil.Process()]
        for pid in pids:
            try:
                self._processes.append(psutil.Process(pid))
            except psutil.NoSuchProcess:
                continue
        self._share = 0.0
        self._restart()

    def start(self) -> None:
        """Begin to measure; what was measured of a window that is short still is kept."""
        if time.monotonic() - self._began >= LOAD_WINDOW_S:
            self._restart()

    def share(self) -> float:
        """Return the share of the processors, 0 to 1, that others used since the window began."""
        now = time.monotonic()
        if now - self._looked >= LOOK_S:
            self._looked = now
            busy, total = machine_seconds()
            own = sum(seconds - self._own.get(pid, 0.0) for pid, seconds in self._own_seconds().items())
            if total > self._total:
                self._share = min(1.0, max(0.0, (busy - self._busy - own) / (total - self._total)))
        return self._share

    def _restart(self) -> None:
        self._began = self._looked = time.monotonic()
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

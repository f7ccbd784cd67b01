"""Timing candidates against each other: they take turns, round by round, until the ratios are known.

On a shared machine times drift by tens of percent, ratios of neighbours in time by one.  So each round takes
one sample of every candidate, the order rotates from round to round, and candidates are compared within
rounds (`harness.measure.statistics.paired_ratio`).  Nothing in here knows of processes: the caller gives the
sampler.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import psutil

from harness.artifact.artifact import Sample
from harness.experiment.settings import TimingSettings
from harness.measure.statistics import median_interval, min_samples, paired_ratio, relative_width
from harness.workers.process import WorkerFailure

LOAD_WINDOW_S = 1.0
"""Load is averaged over at least this long: the kernel counts processor time in hundredths of a second."""

LEAST_ROUNDS = min_samples()
"""Rounds that are taken even when the budget is spent: fewer bound nothing at 95 %."""


@dataclass(frozen=True)
class TimedRound:
    """One turn of every candidate."""

    seconds: dict[str, float]
    """Time of one call by case id."""
    load: float
    """Share of the machine's processors that others used meanwhile."""
    launch_s: dict[str, float] = field(default_factory=dict)
    """What a launch takes besides, where a device tells it apart."""
    clock_mhz: dict[str, int] = field(default_factory=dict)
    """The device's clock, where it is known."""
    throttled: dict[str, str] = field(default_factory=dict)
    """Why samples are not counted: the device was slowed down."""


class Load(Protocol):
    """Measures how much of the machine others use."""

    def start(self) -> None:
        """Begin to measure."""

    def share(self) -> float:
        """Return the share of the processors, 0 to 1, that others used since the start."""


class RoundTimer:
    """Samples candidates in turns and decides when it is enough.

    It is enough when, after `min_rounds`, the 95 % interval of every candidate's paired ratio to the baseline
    (without a baseline: of its own median) is at most `interval` wide; or when `budget_s` is spent and there
    are `LEAST_ROUNDS` rounds; or after `max_rounds`.  A candidate whose single sample takes longer than the
    whole budget is sampled once.  A candidate that fails leaves, and the others go on.  Samples from a device
    that was slowed down are not counted; after `LEAST_ROUNDS` of them none is waited for.
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
        history: Iterable[TimedRound] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare to time `candidates` (case ids), of which `baseline` is one.

        `sample` takes one sample, or raises `WorkerFailure`, which goes to `on_failure`.  `on_round` gets
        every finished round, its number from 0 and the relative width of each candidate's interval.
        `history` holds rounds of an interrupted run, which count as if they were taken now.
        """
        self.candidates = list(candidates)
        self.rounds = list(history)
        self._baseline = baseline
        self._settings = settings
        self._sample = sample
        self._on_round = on_round
        self._on_failure = on_failure
        self._load = load
        self._clock = clock
        self._slow: set[str] = set()

    def run(self) -> list[TimedRound]:
        """Take rounds until it is enough, and return all rounds, those of the history first."""
        self._start = self._clock() - self._seconds_in_history()
        if self._is_enough():
            return self.rounds
        for candidate in list(self.candidates):
            self._take_sample(candidate)
        while not self._is_enough():
            self._take_round()
        return self.rounds

    def widths(self) -> dict[str, float]:
        """Return the relative width of each candidate's interval, by which the end is decided."""
        return {
            candidate: self._width(candidate)
            for candidate in self.candidates
            if candidate not in self._slow and (candidate != self._baseline or len(self.candidates) == 1)
        }

    def _take_round(self) -> None:
        """Sample every candidate once, beginning with another one in every round."""
        turn = len(self.rounds) % len(self.candidates)
        self._load.start()
        samples: dict[str, Sample] = {}
        for candidate in self.candidates[turn:] + self.candidates[:turn]:
            if self._has_turn(candidate):
                sample = self._take_sample(candidate)
                if sample is not None:
                    samples[candidate] = sample
        if samples:
            self.rounds.append(_round_of(samples, self._load.share()))
            self._on_round(self.rounds[-1], len(self.rounds) - 1, self.widths())

    def _take_sample(self, candidate: str) -> Sample | None:
        """Return a sample, or None when the candidate has failed and left."""
        start = self._clock()
        try:
            sample = self._sample(candidate)
        except WorkerFailure as failure:
            self.candidates.remove(candidate)
            if candidate == self._baseline:
                self._baseline = None
            self._on_failure(candidate, failure)
            return None
        if self._clock() - start > self._settings.budget_s:
            self._slow.add(candidate)
        return sample

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
        count = len(self.rounds)
        if count >= self._settings.max_rounds:
            return True
        if count >= LEAST_ROUNDS and self._clock() - self._start >= self._settings.budget_s:
            return True
        return count >= self._settings.min_rounds and all(
            width <= self._settings.interval for width in self.widths().values()
        )

    def _width(self, candidate: str) -> float:
        own = [taken.seconds for taken in self.rounds if candidate in taken.seconds]
        baseline = self._baseline
        if baseline is None or baseline == candidate:
            return (
                relative_width(median_interval([taken[candidate] for taken in own])) if own else float("inf")
            )
        pairs = [(taken[baseline], taken[candidate]) for taken in own if baseline in taken]
        if not pairs:
            return float("inf")
        baseline_seconds, seconds = zip(*pairs, strict=True)
        return relative_width(paired_ratio(baseline_seconds, seconds))

    def _seconds_in_history(self) -> float:
        """Return about how long the rounds of the history took: a sample lasts `min_sample_s` or one call."""
        return sum(
            max(seconds, self._settings.min_sample_s)
            for taken in self.rounds
            for seconds in taken.seconds.values()
        )


def _round_of(samples: Mapping[str, Sample], load: float) -> TimedRound:
    counted = {case: sample for case, sample in samples.items() if sample.throttled is None}
    return TimedRound(
        seconds={case: sample.seconds for case, sample in counted.items()},
        load=load,
        launch_s={case: s.launch_s for case, s in counted.items() if s.launch_s is not None},
        clock_mhz={case: s.clock_mhz for case, s in samples.items() if s.clock_mhz is not None},
        throttled={case: s.throttled for case, s in samples.items() if s.throttled is not None},
    )


class MachineLoad:
    """What others use of the machine: all processor time less that of this process and its workers."""

    def __init__(self, pids: Iterable[int]) -> None:
        """Count the processes of these ids, and this process, as ours."""
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

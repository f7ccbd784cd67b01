import itertools
import random
from collections import Counter, namedtuple
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from harness.artifact.bound_call import Sample
from harness.artifact.device_facts import DeviceFacts
from harness.bench.measure import rounds
from harness.bench.measure.rounds import (
    LEAST_ROUNDS,
    LEAST_STARTS,
    PEAKS_SHARE,
    SAMPLING_OF_A_START,
    MachineLoad,
    RoundTimer,
    TimedRound,
)
from harness.bench.workers.process import WorkerFailure
from harness.experiment.settings import TimingSettings
from harness.system.status import Status

OURS, WORKER = 1, 2


class Machine:
    """A clock, candidates that take as long as told, and a record of who was sampled when."""

    def __init__(self, seconds: Mapping[str, Callable[[int], float]], sample_s: float = 0.1) -> None:
        self.seconds = dict(seconds)
        self.sample_s = sample_s
        self.now = 0.0
        self.turns: list[str] = []
        self.rounds: list[TimedRound] = []
        self.failures: list[str] = []
        self.starts: list[tuple[int, list[str]]] = []
        self.start_s = 0.0
        """How long it takes to start all candidates."""
        self.cannot_start: set[tuple[int, str]] = set()
        self.ends_wrong: set[tuple[int, str]] = set()
        """At the end of which starts which candidates are found wrong."""
        self.verified: list[int] = []
        """Which of the turns were verified."""
        self.peak_s = 0.0
        """How long a sample of a peak takes."""
        self.throttled: set[tuple[str, int]] = set()
        """Candidates and which of their samples find the device slowed down."""

    def sample(self, candidate: str, *, is_verified: bool) -> Sample:
        count = self.turns.count(candidate)
        self.verified += [len(self.turns)] * is_verified
        self.turns.append(candidate)
        seconds = self.seconds[candidate](count)
        self.now += max(self.sample_s, seconds)
        throttled = "power cap" if (candidate, count) in self.throttled else None
        return Sample(
            seconds, calls=1, device=DeviceFacts(launch_s=1e-6, clock_mhz=1980 - count), throttled=throttled
        )

    def start(self) -> None:
        self.load_started = self.now

    def share(self) -> float:
        return 0.25

    def start_anew(self, number: int, candidates: Sequence[str]) -> Mapping[str, WorkerFailure]:
        self.starts.append((number, list(candidates)))
        self.now += self.start_s
        failing = [candidate for candidate in candidates if (number, candidate) in self.cannot_start]
        return {candidate: WorkerFailure(Status.CRASHED, "SIGSEGV") for candidate in failing}

    def end_start(self, number: int, candidates: Sequence[str]) -> Mapping[str, WorkerFailure]:
        failing = [candidate for candidate in candidates if (number, candidate) in self.ends_wrong]
        return {candidate: WorkerFailure(Status.WRONG, "stale") for candidate in failing}

    def sample_peak(self, unit: str) -> float | None:
        self.turns.append(unit)
        self.now += self.peak_s
        return None if unit == "unknown" else 1e9

    def timer(
        self,
        baseline: str | None = None,
        history: list[TimedRound] | None = None,
        units: Sequence[str] = (),
        **settings: Any,
    ) -> RoundTimer:
        """Make a timer; of one start unless more are asked for."""
        return RoundTimer(
            list(self.seconds),
            baseline,
            TimingSettings(**{"starts": 1, **settings}),
            starter=self.start_anew,
            finish_start=self.end_start,
            units=units,
            sample_peak=self.sample_peak,
            sample=self.sample,
            on_round=lambda taken, number, widths: self.rounds.append(taken),
            on_failure=lambda candidate, failure: self.failures.append(candidate),
            load=self,  # type: ignore[arg-type]
            history=history or [],
            clock=lambda: self.now,
        )


def steady(seconds: float) -> Callable[[int], float]:
    return lambda count: seconds


def drifting(seconds: float) -> Callable[[int], float]:
    """Times that grow by 10 % from sample to sample, as on a machine that heats up."""
    return lambda count: seconds * 1.1**count


def alternating(seconds: float) -> Callable[[int], float]:
    return lambda count: seconds * (1 if count % 2 else 2)


def failing_at(last: int) -> Callable[[int], float]:
    def seconds(count: int) -> float:
        if count == last:
            raise WorkerFailure(Status.CRASHED, "SIGSEGV")
        return 0.1

    return seconds


def test_the_last_round_of_each_start_is_verified() -> None:
    machine = Machine({"a": steady(1e-3)})
    rounds = machine.timer(starts=3, min_rounds=1).run()
    starts = [taken.start for taken in rounds]
    ends = [place for place in range(len(starts)) if starts[place] not in starts[place + 1 :]]
    assert machine.verified == ends


def test_steady_ratios_end_the_rounds_as_soon_as_an_interval_can_be_given() -> None:
    machine = Machine({"a": drifting(1e-3), "b": drifting(2e-3)})
    rounds = machine.timer(baseline="a", min_rounds=3).run()
    assert len(rounds) == 7, "six bound an interval, and the verified round follows"


def test_without_a_baseline_drifting_medians_go_on_to_max_rounds() -> None:
    machine = Machine({"a": drifting(1e-3), "b": drifting(2e-3)})
    assert len(machine.timer(max_rounds=12).run()) == 12


def test_noisy_ratios_go_on_until_the_budget_is_spent() -> None:
    machine = Machine({"a": steady(1e-3), "b": alternating(1e-3)})
    rounds = machine.timer(baseline="a", budget_s=2.0, min_rounds=3).run()
    # Each round takes two samples of 0.1 s, and the verified round follows.
    assert len(rounds) == 11


def test_a_spent_budget_still_gives_rounds_enough_for_an_interval() -> None:
    machine = Machine({"a": steady(4.0), "b": steady(4.0)})
    assert len(machine.timer(baseline="a", budget_s=5.0).run()) == LEAST_ROUNDS


def test_a_candidate_that_alone_takes_longer_than_the_budget_is_sampled_once() -> None:
    machine = Machine({"a": steady(1e-3), "slow": steady(9.0)})
    rounds = machine.timer(baseline="a", budget_s=5.0).run()
    assert [sorted(taken.seconds) for taken in rounds] == [["a", "slow"], *([["a"]] * (LEAST_ROUNDS - 1))]


def test_a_candidate_that_fails_leaves_and_the_others_go_on() -> None:
    machine = Machine({"a": steady(1e-3), "dying": failing_at(3), "b": steady(2e-3)})
    timer = machine.timer(baseline="a", min_rounds=8, max_rounds=8)
    rounds = timer.run()
    assert machine.failures == ["dying"]
    assert timer.candidates == ["a", "b"]
    assert ["dying" in taken.seconds for taken in rounds] == [True] * 3 + [False] * 5
    assert all({"a", "b"} <= set(taken.seconds) for taken in rounds)


def test_without_its_baseline_the_rest_is_judged_by_its_own_medians() -> None:
    machine = Machine({"a": failing_at(2), "b": steady(2e-3)})
    timer = machine.timer(baseline="a", min_rounds=3)
    timer.run()
    assert timer.widths() == {"b": 0.0}


def test_rounds_go_on_where_an_interrupted_run_stopped() -> None:
    history = [TimedRound(seconds={"a": 1e-3, "b": 2e-3}, load=0.0)] * 5
    machine = Machine({"a": steady(1e-3), "b": steady(2e-3)})
    rounds = machine.timer(baseline="a", history=history, min_rounds=7, max_rounds=7).run()
    assert len(rounds) == 7
    assert len(machine.rounds) == 2


def test_a_history_that_is_enough_has_one_more_start_that_is_verified() -> None:
    history = [TimedRound(seconds={"a": 1e-3, "b": 2e-3}, load=0.0)] * 8
    machine = Machine({"a": steady(1e-3), "b": steady(2e-3)})
    rounds = machine.timer(baseline="a", history=history, max_rounds=8).run()
    assert rounds[:8] == history
    assert (len(rounds), machine.verified) == (9, [0, 1])


def test_the_seconds_of_the_history_count_for_the_budget() -> None:
    history = [
        TimedRound(seconds={"a": 1.0, "b": 1.0 + number % 2}, load=0.0) for number in range(LEAST_ROUNDS)
    ]
    machine = Machine({"a": steady(1.0), "b": steady(1.0)})
    rounds = machine.timer(baseline="a", history=history, budget_s=7.0, starts=2).run()
    assert len(rounds) <= len(history) + 2


def test_samples_of_a_device_that_is_slowed_down_are_not_counted() -> None:
    machine = Machine({"a": steady(1e-3), "b": steady(2e-3)})
    machine.throttled = {("b", 1), ("b", 3)}
    rounds = machine.timer(baseline="a", min_rounds=8, max_rounds=8).run()
    assert ["b" in taken.seconds for taken in rounds] == [True, False, True, False, *[True] * 4]
    assert rounds[1].throttled == {"b": "power cap"}
    assert rounds[1].device["a"] == rounds[1].device["b"] == DeviceFacts(launch_s=1e-6, clock_mhz=1979)


def test_a_device_that_stays_slow_ends_the_rounds() -> None:
    machine = Machine({"a": steady(1e-3), "b": steady(1e-3)})
    machine.throttled = {("b", count) for count in range(1000)}
    timer = machine.timer(baseline="a", budget_s=2.0)
    rounds = timer.run()
    assert len(rounds) == 11
    assert all("b" in taken.throttled for taken in rounds)


def test_candidates_are_started_anew_and_rounds_say_in_which_start_they_were_taken() -> None:
    machine = Machine({"a": steady(1e-3), "b": steady(2e-3)})
    rounds = machine.timer(baseline="a", starts=4, min_rounds=1).run()
    assert machine.starts == [(number, ["a", "b"]) for number in range(4)]
    assert list(dict.fromkeys(taken.start for taken in rounds)) == [0, 1, 2, 3]


def test_most_of_the_time_goes_into_rounds() -> None:
    machine = Machine({"a": steady(1e-3), "b": alternating(1e-3)})
    machine.start_s = 1.8
    rounds = machine.timer(baseline="a", starts=3, budget_s=120.0).run()
    # Starting takes 1.8 s, a round 0.2 s.
    assert Counter(taken.start for taken in rounds)[0] == pytest.approx(SAMPLING_OF_A_START * 9, abs=1)


def test_a_dear_start_leaves_the_budget_for_others() -> None:
    machine = Machine({"a": steady(1e-3), "b": alternating(1e-3)})
    machine.start_s = 3.8
    rounds = machine.timer(baseline="a", starts=3, budget_s=36.0).run()
    # A fifth of the budget is 7.2 s, of which rounds of 0.2 s have 3.4 s.
    by_start = Counter(taken.start for taken in rounds)
    assert len(by_start) == LEAST_STARTS
    assert max(by_start.values()) <= 18


def test_a_small_budget_is_shared_by_the_starts() -> None:
    machine = Machine({"a": steady(1e-3), "b": alternating(1e-3)})
    machine.start_s = 0.8
    rounds = machine.timer(baseline="a", starts=5, budget_s=7.4).run()
    # A start has 1.5 s, of which 0.8 s is for starting.
    assert {taken.start for taken in rounds} == {0, 1, 2, 3, 4}
    assert max(Counter(taken.start for taken in rounds).values()) <= 4
    assert machine.now <= 7.5 + 0.2


def test_a_spent_budget_still_gives_five_starts() -> None:
    machine = Machine({"a": steady(4.0), "b": steady(4.0)})
    machine.start_s = 5.0
    rounds = machine.timer(baseline="a", starts=8, budget_s=6.0).run()
    assert [taken.start for taken in rounds] == [0, 0, 1, 2, 3, 4], "what a round takes is unknown at first"


def test_starts_go_on_while_the_ratio_differs_between_them() -> None:
    machine = Machine({"a": steady(1e-3)})
    machine.seconds["b"] = lambda count: 1e-3 * (1.02 if machine.starts[-1][0] % 2 else 1.0)
    rounds = machine.timer(baseline="a", starts=3, budget_s=5.0).run()
    assert rounds[-1].start > 3
    assert machine.now >= 5.0 - 1e-9


def test_a_candidate_that_does_not_start_again_leaves_and_the_others_go_on() -> None:
    machine = Machine({"a": steady(1e-3), "b": steady(2e-3), "c": steady(2e-3)})
    machine.cannot_start = {(1, "b")}
    rounds = machine.timer(baseline="a", starts=3).run()
    assert machine.failures == ["b"]
    assert machine.starts[2] == (2, ["a", "c"])
    assert {taken.start for taken in rounds if "b" in taken.seconds} == {0}


def test_resuming_begins_another_start() -> None:
    history = [TimedRound({"a": 1e-3, "b": 2e-3}, 0.0, start=number // 2) for number in range(6)]
    machine = Machine({"a": steady(1e-3), "b": steady(2e-3)})
    rounds = machine.timer(baseline="a", history=history, starts=4).run()
    assert machine.starts == [(3, ["a", "b"])]
    assert {taken.start for taken in rounds[6:]} == {3}


def test_a_start_that_hardly_differs_from_others_is_sampled_longer() -> None:
    draw = random.Random(1)
    machine = Machine({"a": steady(1e-3), "b": lambda count: 1e-3 * draw.lognormvariate(0, 0.3)})
    machine.start_s = 0.1
    rounds = machine.timer(baseline="a", starts=3, budget_s=24.0).run()
    of_starts = Counter(taken.start for taken in rounds)
    # From the third start on it is known that starts do not vary: each has its part of the budget.
    assert of_starts[0] < of_starts[3]


def test_a_candidate_whose_interval_is_narrow_rests() -> None:
    machine = Machine({"a": steady(1e-3), "narrow": steady(2e-3)})
    machine.seconds["wide"] = lambda count: 1e-3 * (1.02 if machine.starts[-1][0] % 2 else 1.0)
    machine.timer(baseline="a", starts=3, min_rounds=3, budget_s=5.0).run()
    assert machine.starts[2] == (2, ["a", "narrow", "wide"])
    assert machine.starts[3] == (3, ["a", "wide"])


def test_peaks_take_turns_with_the_candidates() -> None:
    machine = Machine({"a": steady(1e-3), "b": steady(2e-3)})
    rounds = machine.timer(units=["fma"], min_rounds=12, max_rounds=12).run()
    orders = {tuple(machine.turns[first : first + 3]) for first in range(0, 36, 3)}
    assert orders == set(itertools.permutations(["a", "b", "fma"]))
    assert [dict(taken.peaks) for taken in rounds] == [{"fma": 1e9}] * 12
    assert all(set(taken.seconds) == {"a", "b"} for taken in rounds)


def test_peaks_that_take_long_have_few_turns_and_candidates_keep_their_balance() -> None:
    machine = Machine({"a": steady(1e-3), "b": steady(2e-3)})
    machine.peak_s = 0.1  # as long as the sample of a candidate
    rounds = machine.timer(units=["fma"], min_rounds=200, max_rounds=200).run()
    assert machine.turns.count("fma") * machine.peak_s <= PEAKS_SHARE * machine.now + machine.peak_s
    assert sum("fma" in taken.peaks for taken in rounds) == machine.turns.count("fma") > 10
    follow = Counter(pairwise(turn for turn in machine.turns if turn != "fma"))
    assert follow["a", "b"] == pytest.approx(follow["b", "a"], abs=5)
    before = Counter(first for first, then in pairwise(machine.turns) if then == "fma")
    assert before["a"] == pytest.approx(before["b"], abs=2)


def test_a_round_lacks_a_peak_that_nothing_measures() -> None:
    machine = Machine({"a": steady(1e-3)})
    assert not any(taken.peaks for taken in machine.timer(units=["unknown"], max_rounds=6).run())


def test_what_is_found_at_the_end_of_a_start_takes_a_candidate_out() -> None:
    machine = Machine({"a": steady(1e-3), "b": steady(2e-3)})
    machine.ends_wrong = {(1, "b")}
    machine.timer(baseline="a", starts=3).run()
    assert machine.failures == ["b"]
    assert machine.starts[2] == (2, ["a"])


def test_an_interval_that_is_not_reached_says_what_it_would_take() -> None:
    machine = Machine({"a": steady(1e-3)})
    machine.seconds["b"] = lambda count: 1e-3 * (1.1 if machine.starts[-1][0] % 2 else 1.0)
    timer = machine.timer(baseline="a", starts=3, budget_s=2.0)
    timer.run()
    (line,) = timer.missed()
    assert "1.0% is the default: that would take about" in line
    asked = machine.timer(baseline="a", interval=0.00001, starts=3, budget_s=2.0)
    asked.run()
    assert "were asked: that cannot be had on this machine now" in asked.missed()[0]
    reached = Machine({"a": steady(1e-3), "b": steady(1e-3)}).timer(baseline="a")
    reached.run()
    assert reached.missed() == []


@pytest.mark.parametrize(("interval", "count"), [(0.08, 20), (0.12, 7)])
def test_an_interval_s_full_width_is_what_is_asked_for(interval: float, count: int) -> None:
    """Ratios of 0.95, 1.05 in turn have an interval 0.1 wide."""
    machine = Machine({"a": steady(1e-3), "b": lambda count: 1e-3 / (1.05 if count % 2 else 0.95)})
    rounds = machine.timer(baseline="a", interval=interval, min_rounds=6, max_rounds=20).run()
    assert len(rounds) == count


@pytest.mark.parametrize(
    ("busy", "total", "own", "expected"),
    [
        pytest.param(2.0, 4.0, 2.0, 0.0, id="all-is-ours"),
        pytest.param(3.0, 4.0, 2.0, 0.25, id="others-use-a-quarter"),
        pytest.param(4.0, 4.0, 0.0, 1.0, id="others-use-all"),
        pytest.param(1.0, 4.0, 1.5, 0.0, id="clocks-disagree"),
        pytest.param(0.0, 0.0, 0.0, 0.0, id="no-time-has-passed"),
    ],
)
def test_load_is_the_share_that_others_used(
    busy: float, total: float, own: float, expected: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = iter([(100.0, 200.0), (100.0 + busy, 200.0 + total)])
    ours = iter([{1: 7.0}, {1: 7.0 + own}])
    monkeypatch.setattr(rounds, "machine_seconds", lambda: next(machine))
    monkeypatch.setattr(MachineLoad, "_own_seconds", lambda self: next(ours))
    monkeypatch.setattr(rounds, "LOOK_S", 0.0)
    assert MachineLoad([]).share() == expected


def test_load_is_averaged_over_rounds_that_are_too_short_to_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    busy, now = {0.0: 0.0, 0.05: 0.1, 0.5: 1.0, 1.5: 2.0, 2.0: 2.0}, 0.0
    monkeypatch.setattr(rounds, "machine_seconds", lambda: (busy[now], 2 * now))
    monkeypatch.setattr(rounds.time, "monotonic", lambda: now)
    monkeypatch.setattr(MachineLoad, "_own_seconds", lambda self: {})
    load = MachineLoad([])
    shares = []
    for now in (0.05, 0.5, 1.5, 2.0):  # noqa: B007  # the clock
        load.start()
        shares.append(load.share())
    # The first look is too short to tell, and from the third on a window begins anew.
    assert shares == [0.0, 1.0, 1.0, 0.0]


def test_stolen_time_is_busy_and_waiting_is_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    Times = namedtuple("Times", "user system idle iowait steal guest")
    times = Times(user=5.0, system=2.0, idle=30.0, iowait=1.0, steal=4.0, guest=3.0)
    monkeypatch.setattr(rounds.psutil, "cpu_times", lambda: times)
    assert rounds.machine_seconds() == (11.0, 42.0)


def test_what_workers_use_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """One processor of four is used by a worker, one by this process, one by others."""
    used = {OURS: 0.0, WORKER: 0.0, None: 0.0}

    class Process:
        def __init__(self, pid: int = OURS) -> None:
            self.pid = pid

        def cpu_times(self) -> SimpleNamespace:
            return SimpleNamespace(user=used[self.pid], system=0.0)

    now = 0.0
    monkeypatch.setattr(rounds.psutil, "Process", Process)
    monkeypatch.setattr(rounds, "machine_seconds", lambda: (sum(used.values()), 4 * now))
    monkeypatch.setattr(rounds, "LOOK_S", 0.0)
    load = MachineLoad([])
    load.follow([WORKER])
    now = 10.0
    used = dict.fromkeys(used, now)
    assert load.share() == pytest.approx(0.25)


def test_each_candidate_follows_each_other_one_equally_often() -> None:
    machine = Machine({"a": steady(1e-3), "b": steady(1e-3), "c": steady(1e-3)})
    machine.timer(min_rounds=12, max_rounds=12).run()
    orders = ["".join(machine.turns[first : first + 3]) for first in range(0, 36, 3)]
    followed = Counter(pair for order in orders for pair in pairwise(order))
    assert set(followed.values()) == {4}
    assert len(followed) == 6
    assert Counter(order[0] for order in orders) == {"a": 4, "b": 4, "c": 4}


def test_a_narrow_interval_of_few_starts_is_not_enough() -> None:
    machine = Machine({"a": steady(1e-3), "b": steady(2e-3)})
    rounds = machine.timer(baseline="a", starts=7, min_rounds=6).run()
    assert rounds[-1].start == 6


def test_every_ratio_must_be_narrow() -> None:
    machine = Machine({"a": steady(1e-3), "steady": steady(1e-3), "noisy": alternating(1e-3)})
    rounds = machine.timer(baseline="a", min_rounds=6, max_rounds=20).run()
    assert len(rounds) == 20

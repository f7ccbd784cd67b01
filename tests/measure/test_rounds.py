from collections.abc import Callable, Mapping
from typing import Any

import pytest

from harness.artifact.artifact import Sample
from harness.experiment.settings import TimingSettings
from harness.measure import rounds
from harness.measure.rounds import LEAST_ROUNDS, MachineLoad, RoundTimer, TimedRound
from harness.status import Status
from harness.workers.process import WorkerFailure


class Machine:
    """A clock, candidates that take as long as told, and a record of who was sampled when."""

    def __init__(self, seconds: Mapping[str, Callable[[int], float]], sample_s: float = 0.1) -> None:
        self.seconds = dict(seconds)
        self.sample_s = sample_s
        self.now = 0.0
        self.turns: list[str] = []
        self.rounds: list[TimedRound] = []
        self.failures: list[str] = []
        self.throttled: set[tuple[str, int]] = set()
        """Candidates and which of their samples find the device slowed down."""

    def sample(self, candidate: str) -> Sample:
        count = self.turns.count(candidate)
        self.turns.append(candidate)
        seconds = self.seconds[candidate](count)
        self.now += max(self.sample_s, seconds)
        throttled = "power cap" if (candidate, count) in self.throttled else None
        return Sample(seconds, calls=1, launch_s=1e-6, clock_mhz=1980 - count, throttled=throttled)

    def start(self) -> None:
        self.load_started = self.now

    def share(self) -> float:
        return 0.25

    def timer(
        self, baseline: str | None = None, history: list[TimedRound] | None = None, **settings: Any
    ) -> RoundTimer:
        return RoundTimer(
            list(self.seconds),
            baseline,
            TimingSettings(**settings),
            sample=self.sample,
            on_round=lambda taken, number, widths: self.rounds.append(taken),
            on_failure=lambda candidate, failure: self.failures.append(candidate),
            load=self,
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


def test_every_round_begins_with_another_candidate() -> None:
    machine = Machine({"a": steady(1e-3), "b": steady(1e-3), "c": steady(1e-3)})
    machine.timer(min_rounds=4, max_rounds=4).run()
    warm_up, rounds = machine.turns[:3], machine.turns[3:]
    assert warm_up == ["a", "b", "c"]
    assert "".join(rounds) == "abcbcacababc"


def test_warm_up_samples_are_not_counted() -> None:
    machine = Machine({"a": lambda count: 1.0 if count == 0 else 1e-3})
    rounds = machine.timer(max_rounds=6, min_rounds=6).run()
    assert [taken.seconds["a"] for taken in rounds] == [1e-3] * 6


def test_steady_ratios_end_the_rounds_as_soon_as_an_interval_can_be_given() -> None:
    machine = Machine({"a": drifting(1e-3), "b": drifting(2e-3)})
    rounds = machine.timer(baseline="a", min_rounds=3).run()
    assert len(rounds) == 6


def test_min_rounds_are_taken_even_when_the_ratio_is_known() -> None:
    machine = Machine({"a": steady(1e-3), "b": steady(2e-3)})
    assert len(machine.timer(baseline="a", min_rounds=17).run()) == 17


def test_without_a_baseline_drifting_medians_go_on_to_max_rounds() -> None:
    machine = Machine({"a": drifting(1e-3), "b": drifting(2e-3)})
    assert len(machine.timer(max_rounds=12).run()) == 12


def test_noisy_ratios_go_on_until_the_budget_is_spent() -> None:
    machine = Machine({"a": steady(1e-3), "b": alternating(1e-3)})
    rounds = machine.timer(baseline="a", budget_s=2.0, min_rounds=3).run()
    # Each round takes two samples of 0.1 s, and the warm-up takes as long as a round.
    assert len(rounds) == 9


def test_a_spent_budget_still_gives_rounds_enough_for_an_interval() -> None:
    machine = Machine({"a": steady(4.0), "b": steady(4.0)})
    assert len(machine.timer(baseline="a", budget_s=5.0).run()) == LEAST_ROUNDS


def test_a_candidate_that_alone_takes_longer_than_the_budget_is_sampled_once() -> None:
    machine = Machine({"a": steady(1e-3), "slow": steady(9.0)})
    rounds = machine.timer(baseline="a", budget_s=5.0).run()
    assert [sorted(taken.seconds) for taken in rounds] == [["a", "slow"], *([["a"]] * (LEAST_ROUNDS - 1))]


def test_only_slow_candidates_end_after_one_round() -> None:
    machine = Machine({"slow": steady(9.0), "slower": steady(99.0)})
    assert len(machine.timer(budget_s=5.0).run()) == 1


def test_a_candidate_that_fails_leaves_and_the_others_go_on() -> None:
    machine = Machine({"a": steady(1e-3), "dying": failing_at(3), "b": steady(2e-3)})
    timer = machine.timer(baseline="a", min_rounds=8, max_rounds=8)
    rounds = timer.run()
    assert machine.failures == ["dying"]
    assert timer.candidates == ["a", "b"]
    assert ["dying" in taken.seconds for taken in rounds] == [True, True] + [False] * 6
    assert all({"a", "b"} <= set(taken.seconds) for taken in rounds)


def test_without_its_baseline_the_rest_is_judged_by_its_own_medians() -> None:
    machine = Machine({"a": failing_at(2), "b": steady(2e-3)})
    timer = machine.timer(baseline="a", min_rounds=3)
    timer.run()
    assert timer.widths() == {"b": 0.0}


def test_the_last_failure_ends_the_rounds() -> None:
    machine = Machine({"a": failing_at(0)})
    assert machine.timer().run() == []
    assert machine.failures == ["a"]


def test_rounds_go_on_where_an_interrupted_run_stopped() -> None:
    history = [TimedRound(seconds={"a": 1e-3, "b": 2e-3}, load=0.0)] * 5
    machine = Machine({"a": steady(1e-3), "b": steady(2e-3)})
    rounds = machine.timer(baseline="a", history=history, min_rounds=7, max_rounds=7).run()
    assert len(rounds) == 7
    assert len(machine.rounds) == 2


def test_a_history_that_is_enough_needs_no_sample() -> None:
    history = [TimedRound(seconds={"a": 1e-3, "b": 2e-3}, load=0.0)] * 8
    machine = Machine({"a": steady(1e-3), "b": steady(2e-3)})
    assert machine.timer(baseline="a", history=history).run() == history
    assert machine.turns == []


def test_a_history_without_a_candidate_is_not_enough() -> None:
    history = [TimedRound(seconds={"a": 1e-3}, load=0.0)] * 8
    machine = Machine({"a": steady(1e-3), "b": steady(2e-3)})
    rounds = machine.timer(baseline="a", history=history, max_rounds=8).run()
    assert "b" in rounds[-1].seconds


def test_the_seconds_of_the_history_count_for_the_budget() -> None:
    history = [
        TimedRound(seconds={"a": 1.0, "b": 1.0 + number % 2}, load=0.0) for number in range(LEAST_ROUNDS)
    ]
    machine = Machine({"a": steady(1.0), "b": steady(1.0)})
    assert machine.timer(baseline="a", history=history, budget_s=7.0).run() == history


def test_samples_of_a_device_that_is_slowed_down_are_not_counted() -> None:
    machine = Machine({"a": steady(1e-3), "b": steady(2e-3)})
    machine.throttled = {("b", 1), ("b", 3)}
    rounds = machine.timer(baseline="a", min_rounds=8, max_rounds=8).run()
    assert ["b" in taken.seconds for taken in rounds] == [False, True, False, *[True] * 5]
    assert rounds[0].throttled == {"b": "power cap"}
    assert rounds[0].launch_s == {"a": 1e-6}
    assert rounds[0].clock_mhz == {"a": 1979, "b": 1979}


def test_a_device_that_stays_slow_ends_the_rounds() -> None:
    machine = Machine({"a": steady(1e-3), "b": steady(1e-3)})
    machine.throttled = {("b", count) for count in range(1000)}
    timer = machine.timer(baseline="a", budget_s=2.0)
    rounds = timer.run()
    assert len(rounds) == 9
    assert all("b" in taken.throttled for taken in rounds)


def test_each_round_records_the_load() -> None:
    machine = Machine({"a": steady(1e-3)})
    rounds = machine.timer(min_rounds=2, max_rounds=2).run()
    assert [taken.load for taken in rounds] == [0.25, 0.25]


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
    assert MachineLoad([]).share() == expected


def test_load_is_averaged_over_rounds_that_are_too_short_to_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = iter([(0.0, 0.0), (0.0, 1.0), (1.0, 2.0), (1.0, 2.5), (1.0, 2.5), (1.0, 4.5)])
    monkeypatch.setattr(rounds, "machine_seconds", lambda: next(readings))
    monkeypatch.setattr(rounds.psutil, "cpu_count", lambda: 2)
    monkeypatch.setattr(MachineLoad, "_own_seconds", lambda self: {})
    load = MachineLoad([])
    shares = []
    for _ in range(2):
        load.start()
        shares.append(load.share())
    assert shares == [0.5, 0.0]

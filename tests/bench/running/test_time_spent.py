"""Where the time of a run goes."""

import pytest

from harness.bench.running import time_spent
from harness.bench.running.time_spent import BUILD, SAMPLES, START_UP, TIMING, TimeSpent, described


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, as a list of one that tests change."""
    time = [0.0]
    monkeypatch.setattr(time_spent.time, "perf_counter", lambda: time[0])
    return time


def test_each_second_is_of_one_part(now: list[float]) -> None:
    spent = TimeSpent({START_UP: 2.0})
    with spent.spent_on(BUILD):
        now[0] += 4.0
    for _ in range(2):
        with spent.timing():
            with spent.spent_on("starts"):
                now[0] += 1.0
            with spent.spent_on(SAMPLES):
                now[0] += 3.0
            now[0] += 1.0
    now[0] += 0.5
    assert (spent.timing_s, spent.share, spent.seconds) == (10.0, 0.6, 16.5)
    parts = {START_UP: 2.0, BUILD: 4.0, "starts": 2.0, SAMPLES: 6.0, TIMING: 2.0, "the rest": 0.5}
    assert spent.by_part() == parts
    line = described(spent.by_part())
    assert line.startswith("took 16.5 s: samples 6.0 s, build 4.0 s, ")
    assert line.endswith(", the rest 0.5 s")


def test_without_timings_there_is_no_share() -> None:
    assert TimeSpent().share is None

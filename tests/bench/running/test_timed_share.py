"""Where the time of timings goes."""

import pytest

from harness.bench.running import timed_share
from harness.bench.running.timed_share import SAMPLES, TimedShare


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, as a list of one that tests change."""
    time = [0.0]
    monkeypatch.setattr(timed_share.time, "perf_counter", lambda: time[0])
    return time


def test_the_share_is_of_all_timings(now: list[float]) -> None:
    share = TimedShare()
    for _ in range(2):
        with share.timing():
            with share.spent_on("starts"):
                now[0] += 1.0
            with share.spent_on(SAMPLES):
                now[0] += 3.0
            now[0] += 1.0
    assert (share.seconds, share.share) == (10.0, 0.6)
    assert share.described() == "timing took 10.0 s: samples 60%, starts 20%, the rest 20%"


def test_without_timings_there_is_no_share() -> None:
    assert TimedShare().share is None

"""How long a run still takes."""

import pytest

from harness.running.time_left import TimeLeft, in_words


class Clock:
    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def test_cases_that_end_together_took_the_time_since_the_run_began() -> None:
    time_left = TimeLeft(clock := Clock())
    time_left.planned(54)
    assert time_left.seconds is None
    clock.seconds += 30
    for _ in range(3):
        time_left.ended(took_time=True)
    assert time_left.seconds == pytest.approx(510)
    clock.seconds += 10
    assert time_left.seconds == pytest.approx(500)


def test_what_is_kept_or_unsupported_tells_nothing_of_the_time() -> None:
    time_left = TimeLeft(clock := Clock())
    time_left.planned(10)
    for _ in range(6):
        time_left.ended(took_time=False)
    assert time_left.seconds is None
    clock.seconds += 8
    time_left.ended(took_time=True)
    assert time_left.seconds == pytest.approx(24)


def test_a_case_that_takes_longer_than_those_before_never_leaves_nothing() -> None:
    time_left = TimeLeft(clock := Clock())
    time_left.planned(2)
    clock.seconds += 1
    time_left.ended(took_time=True)
    clock.seconds += 60
    assert time_left.seconds == pytest.approx(60)
    time_left.ended(took_time=True)
    assert time_left.seconds == 0


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(None, "-:--:-- left"), (0.0, "0:00:00 left"), (83.9, "0:01:23 left"), (36610.0, "10:10:10 left")],
)
def test_time_in_words(seconds: float | None, words: str) -> None:
    assert in_words(seconds) == words

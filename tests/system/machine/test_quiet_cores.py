import os
import time
from collections import namedtuple

import psutil
import pytest

from harness.system.machine.quiet_cores import fastest_core, quiet_cores

Times = namedtuple("Times", "user system idle")


@pytest.fixture
def busy_in_the_window(monkeypatch: pytest.MonkeyPatch) -> dict[int, float]:
    """Three processors of this process, of four; how busy each becomes while they are watched."""
    busy = {0: 0.0, 1: 0.0, 2: 0.0, 3: 0.0}
    looks = []

    def cpu_times(percpu: bool) -> list[Times]:
        looks.append(percpu)
        share = 0 if len(looks) % 2 else 1
        return [Times(5 + share * seconds, 1, 100 - share * seconds) for seconds in busy.values()]

    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 3})
    monkeypatch.setattr(psutil, "cpu_times", cpu_times)
    return busy


@pytest.mark.parametrize(
    ("busy", "quiet"),
    [
        ({0: 0.05, 3: 0.04}, [1]),
        ({0: 0.05, 3: 0.01}, [1, 3]),
        ({0: 0.05, 1: 0.05, 3: 0.05}, [0, 1, 3]),
    ],
)
def test_the_quietest_are_of_those_that_this_process_may_use(
    busy_in_the_window: dict[int, float], busy: dict[int, float], quiet: list[int]
) -> None:
    busy_in_the_window.update(busy)
    assert quiet_cores(window_s=0) == quiet


def test_the_processor_of_the_quickest_loop_is_the_fastest(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that goes three times as fast on processor 3 as on 1."""
    here = {"processor": 0, "now": 0.0}
    allowed: list[set[int]] = []

    def stay_on(process: int, processors: set[int]) -> None:
        allowed.append(processors)
        here["processor"] = min(processors)

    def clock() -> float:
        here["now"] += 1.0 if here["processor"] == 3 else 3.0
        return here["now"]

    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {1, 3})
    monkeypatch.setattr(os, "sched_setaffinity", stay_on)
    monkeypatch.setattr(time, "perf_counter", clock)
    assert fastest_core([1, 3]) == 3
    assert allowed[-1] == {1, 3}, "this thread is free again"

"""Bursts of several threads: what counts as their rate."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from harness.targets.cpu import peak as bursts


def nothing(thread: int) -> None:
    """Work that takes no time."""


def test_the_best_try_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = iter([1.0, 2.0, 9.0, 3.0])
    monkeypatch.setattr(bursts, "bursts_per_second", lambda pool, work, together: next(rates))
    assert bursts.best_bursts_per_second(nothing, threads=1, bursts=4) == 9.0


@pytest.mark.parametrize(
    ("times", "rate"),
    [
        ([(0.0, 0.5), (0.5, 1.0), (1.0, 1.5), (1.5, 2.0)], 1 / 0.5),  # in turns on a core: no faster than one
        ([(0.0, 0.5), (0.0, 0.5)], 2 / 0.5),
    ],
)
def test_a_rate_is_over_all_threads_from_the_first_start_to_the_last_end(
    monkeypatch: pytest.MonkeyPatch, times: list[tuple[float, float]], rate: float
) -> None:
    taken = iter(times)
    monkeypatch.setattr(bursts, "burst", lambda work, thread, together: next(taken))
    with ThreadPoolExecutor(1) as pool:
        assert bursts.bursts_per_second(pool, nothing, Barrier(len(times))) == rate


def test_a_burst_starts_when_all_threads_are_there() -> None:
    together = Barrier(2)
    numbers: list[int] = []
    with ThreadPoolExecutor(2) as pool:
        started: list[Any] = [
            pool.submit(bursts.burst, numbers.append, thread, together) for thread in range(2)
        ]
        assert all(start <= end for start, end in (one.result(timeout=60) for one in started))
    assert sorted(numbers) == [0, 1]

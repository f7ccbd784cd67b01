"""The measured peak of the processor, and bursts of several threads: what counts as their rate."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import numpy as np
import pytest

from harness.targets.cpu import peak
from harness.targets.cpu.chip import chip


@pytest.mark.parametrize("threads", [1, 2])
def test_peak_is_a_plausible_rate(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peak, "STEPS", 100_000)
    rate = peak.measure_peak(threads)
    assert np.isfinite(rate)
    assert 1e9 < rate < 1e13


def test_a_peak_counts_a_multiplication_and_an_addition_of_each_lane_and_chain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(peak, "best_bursts_per_second", lambda work, threads, bursts: 3.0)
    operations = 2 * peak.STEPS * peak.ACCUMULATORS * chip("host").registers.vector_length
    assert peak.measure_peak(1) == 3.0 * operations


def nothing(thread: int) -> None:
    """Work that takes no time."""


def test_the_best_try_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = iter([1.0, 2.0, 9.0, 3.0])
    monkeypatch.setattr(peak, "bursts_per_second", lambda pool, work, together: next(rates))
    assert peak.best_bursts_per_second(nothing, threads=1, bursts=4) == 9.0


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
    monkeypatch.setattr(peak, "burst", lambda work, thread, together: next(taken))
    with ThreadPoolExecutor(1) as pool:
        assert peak.bursts_per_second(pool, nothing, Barrier(len(times))) == rate


def test_a_burst_starts_when_all_threads_are_there() -> None:
    together = Barrier(2)
    numbers: list[int] = []
    with ThreadPoolExecutor(2) as pool:
        started: list[Any] = [
            pool.submit(peak.burst, numbers.append, thread, together) for thread in range(2)
        ]
        assert all(start <= end for start, end in (each.result(timeout=60) for each in started))
    assert sorted(numbers) == [0, 1]

"""Bandwidths of reading: which levels of memory there are, and what a sample counts."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import numpy as np
import pytest
from sweeps import sweep

from harness import plugins
from harness.targets.cpu import bandwidth
from harness.targets.cpu.bandwidth import (
    BURST_OF_CACHE,
    BURST_OF_MEMORY,
    measure_bandwidths,
    memory_levels,
)

CACHES = {"L1d": 48 * 2**10, "L1i": 32 * 2**10, "L2": 2**20, "L3": 32 * 2**20}
PLENTY = 2**40


@pytest.mark.parametrize(
    ("caches", "threads", "free", "levels"),
    [
        (CACHES, 1, PLENTY, ["L1", "L2", "L3", "memory"]),
        ({}, 1, PLENTY, ["memory"]),
        (CACHES, 16, PLENTY, ["L1", "L2", "memory"]),  # a thread's share of L3 lies in L2
        (CACHES, 1, 300 * 2**20, ["L1", "L2", "L3"]),
        ({}, 1, 10 * 2**20, []),
    ],
)
def test_levels_that_can_be_told_apart_are_measured(
    caches: dict[str, int], threads: int, free: int, levels: list[str]
) -> None:
    assert [level.name for level in memory_levels(caches, threads, free)] == levels


def test_a_buffer_lies_in_its_cache_and_in_no_nearer_one() -> None:
    alone, shared = (memory_levels(CACHES, threads, PLENTY) for threads in (1, 4))
    held = {level.name: level.held for level in alone}
    assert held["L1"] < CACHES["L1d"] < held["L2"] < CACHES["L2"] < held["L3"] < CACHES["L3"]
    assert held["memory"] >= 4 * CACHES["L3"]
    assert [alone[2].held, alone[3].held] == [4 * shared[2].held, 4 * shared[3].held]


def test_a_burst_reads_whole_buffers_of_a_cache_and_a_part_of_those_in_memory() -> None:
    for level in memory_levels(CACHES, 3, PLENTY):
        if level.name == "memory":
            assert level.burst == BURST_OF_MEMORY
            assert level.held % level.burst == 0
            assert level.held > level.burst
        else:
            assert level.burst % level.held == 0
            assert BURST_OF_CACHE / 2 < level.burst <= BURST_OF_CACHE


def test_levels_take_turns_with_the_number_of_the_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bandwidth, "cache_sizes", lambda: CACHES)
    monkeypatch.setattr(bandwidth, "best_bursts_per_second", lambda work, threads, bursts: 10.0)
    monkeypatch.setattr(bandwidth, "_readers", lambda level, threads: ())
    found = [measure_bandwidths(1, number) for number in range(5)]
    assert [list(sample) for sample in found] == [["L1"], ["L2"], ["L3"], ["memory"], ["L1"]]
    assert found[3] == {"memory": 10.0 * BURST_OF_MEMORY}


def test_the_loop_reads_every_element_as_often_as_it_is_told() -> None:
    step = bandwidth._whole_steps(2**20) // 4
    for place in (0, step // 2, step - 1):
        values = np.zeros(step, np.int32)
        values[place] = 4  # of one lane of one accumulator: the result is that of lane 0 of the last one
        read = bandwidth._loop()(values.ctypes.data, values.nbytes, 2)
        lanes = bandwidth.chip("host").registers.vector_length
        assert read == (4 if place % lanes == 0 else 0)


@pytest.mark.parametrize("threads", sweep([1, 2], but=[1]))
def test_bandwidths_are_plausible(threads: int) -> None:
    target = plugins.target("cpu")
    options = target.options(threads=threads)
    found: dict[str, float] = {}
    for number in range(8):
        found.update(target.bandwidths(None, options, number))
    assert "memory" in found
    assert all(1e8 < rate < 1e14 for rate in found.values())


def nothing(thread: int) -> None:
    """Work that takes no time."""


def test_the_best_try_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = iter([1.0, 2.0, 9.0, 3.0])
    monkeypatch.setattr(bandwidth, "bursts_per_second", lambda pool, work, together: next(rates))
    assert bandwidth.best_bursts_per_second(nothing, threads=1, bursts=4) == 9.0


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
    monkeypatch.setattr(bandwidth, "burst", lambda work, thread, together: next(taken))
    with ThreadPoolExecutor(1) as pool:
        assert bandwidth.bursts_per_second(pool, nothing, Barrier(len(times))) == rate


def test_a_burst_starts_when_all_threads_are_there() -> None:
    together = Barrier(2)
    numbers: list[int] = []
    with ThreadPoolExecutor(2) as pool:
        started: list[Any] = [
            pool.submit(bandwidth.burst, numbers.append, thread, together) for thread in range(2)
        ]
        assert all(start <= end for start, end in (each.result(timeout=60) for each in started))
    assert sorted(numbers) == [0, 1]

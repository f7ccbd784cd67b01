"""Bandwidths of reading: which levels of memory there are, and what a sample counts."""

import numpy as np
import pytest
from sweeps import sweep

from harness import plugins
from harness.targets.cpu import bandwidth
from harness.targets.cpu.bandwidth import (
    BURST_OF_CACHE,
    BURST_OF_MEMORY,
    Level,
    measure_bandwidths,
    memory_levels,
)

CACHES = {"L1d": 48 * 2**10, "L1i": 32 * 2**10, "L2": 2**20, "L3": 32 * 2**20}
PLENTY = 2**40


def names(caches: dict[str, int], threads: int = 1, free: int = PLENTY) -> list[str]:
    return [level.name for level in memory_levels(caches, threads, free)]


def test_levels_are_named_from_the_nearest_on() -> None:
    assert names(CACHES) == ["L1", "L2", "L3", "memory"]
    assert names({}) == ["memory"]


def test_a_buffer_lies_in_its_cache_and_in_no_nearer_one() -> None:
    held = {level.name: level.held for level in memory_levels(CACHES, 1, PLENTY)}
    assert held["L1"] < CACHES["L1d"] < held["L2"] < CACHES["L2"] < held["L3"] < CACHES["L3"]
    assert held["memory"] >= 4 * CACHES["L3"]


def test_threads_share_the_last_cache_and_what_is_too_small_for_them_is_not_measured() -> None:
    alone, shared = (memory_levels(CACHES, threads, PLENTY)[2] for threads in (1, 4))
    assert alone.held == 4 * shared.held
    assert names(CACHES, threads=16) == ["L1", "L2", "memory"]


def test_buffers_in_memory_are_of_all_threads_together() -> None:
    held = {threads: memory_levels(CACHES, threads, PLENTY)[-1].held for threads in (1, 2)}
    assert held[1] == 2 * held[2]


def test_memory_is_not_measured_where_too_little_of_it_is_free() -> None:
    assert names(CACHES, free=300 * 2**20) == ["L1", "L2", "L3"]
    assert names({}, free=10 * 2**20) == []


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


def test_the_parts_of_a_buffer_in_memory_are_read_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[tuple[int, int, int]] = []
    monkeypatch.setattr(
        bandwidth, "_loop", lambda: lambda first, count, passes: read.append((first, count, passes))
    )
    reader = bandwidth._Reader(Level("memory", 3 * 4096, 4096))
    for _ in range(4):
        reader.read()
    first = read[0][0]
    assert [place - first for place, _, _ in read] == [0, 4096, 8192, 0]
    assert {(count, passes) for _, count, passes in read} == {(4096, 1)}


@pytest.mark.parametrize("threads", sweep([1, 2], but=[2]))
def test_bandwidths_are_plausible(threads: int) -> None:
    target = plugins.target("cpu")
    options = target.options(threads=threads)
    found: dict[str, float] = {}
    for number in range(8):
        found.update(target.bandwidths(None, options, number))
    assert "memory" in found
    assert all(1e8 < rate < 1e14 for rate in found.values())

"""The measured peak of a unit of the processor: what its loop counts, and its threads' rate."""

from concurrent.futures import ThreadPoolExecutor, wait

import numpy as np
import pytest

from harness.targets.cpu import peak
from harness.targets.cpu.chip import chip
from harness.targets.cpu.object_code import compiled_here


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let samples be short."""
    monkeypatch.setattr(peak, "SAMPLE_S", 1e-4)


@pytest.mark.parametrize("threads", [1, 2])
def test_peak_is_a_plausible_rate(threads: int, short: None) -> None:
    sampler = peak.PeakSampler(peak.fma_f32(), threads)
    rate = max(sampler.sample() for _ in range(10))  # of a busy machine some are short of a processor
    assert np.isfinite(rate)
    assert 1e9 < rate < 1e13


def test_samples_grow_where_the_first_steps_waited(short: None) -> None:
    sampler = peak.PeakSampler(peak.fma_f32(), threads=1)
    sampler._steps = 1
    rates = [sampler.sample() for _ in range(20)]
    assert sampler._steps > 100
    assert max(rates[1:]) > rates[0]


def test_a_step_counts_a_multiplication_and_an_addition_of_each_lane_and_chain() -> None:
    loop, length = peak.fma_f32(), chip("host").registers.vector_length
    assert loop.flops == 2 * peak.ACCUMULATORS * length
    assert loop.text.count(f"call <{length} x float> @llvm.fma") == peak.ACCUMULATORS


def test_no_chain_of_the_loop_can_be_left_out() -> None:
    """Each chain begins with its number i and takes a ↦ a / 2 + 1 / 2, the result adds them all up."""
    loop = compiled_here(peak.fma_f32().text, "peak", peak.ctypes.c_float, peak.ctypes.c_int64)
    after_one_step = [0.5 * number + 0.5 for number in range(peak.ACCUMULATORS)]
    assert loop(1) == sum(after_one_step) + after_one_step[0]
    assert loop(100) == peak.ACCUMULATORS + 1


def test_a_rate_is_over_all_threads_and_their_steps(monkeypatch: pytest.MonkeyPatch, short: None) -> None:
    sampler = peak.PeakSampler(peak.PeakLoop(peak.fma_f32().text, flops=3), threads=2)
    monkeypatch.setattr(sampler, "_seconds", lambda steps: steps * 1e-9)
    assert sampler.sample() == pytest.approx(2 * 3 * 1e9)


def stamps(*seconds: tuple[float, float]) -> np.ndarray:
    """Return begin and end of each thread as its clock's seconds and nanoseconds."""
    return np.array([[divmod(round(1e9 * at), 10**9) for at in ends] for ends in seconds])


def test_time_goes_from_the_first_start_to_the_last_end() -> None:
    in_turns = stamps((0.9, 1.2), (1.2, 1.5))
    together = stamps((2.0, 2.3), (2.0, 2.3))
    assert peak.seconds_of(in_turns) == pytest.approx(0.6)
    assert peak.seconds_of(together) == pytest.approx(0.3)


def test_a_thread_waits_until_all_are_there() -> None:
    timed = peak.timed_loop(peak.fma_f32())
    arrived, clocks = np.zeros(1, np.int64), np.zeros((2, 2, 2), np.int64)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(timed, arrived.ctypes.data, 2, 1, 1, clocks[0].ctypes.data)
        assert wait([first], timeout=0.05).not_done
        timed(arrived.ctypes.data, 2, 1, 1, clocks[1].ctypes.data)
        first.result(timeout=60)
    assert arrived == [2]
    assert (clocks > 0).all()

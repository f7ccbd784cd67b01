"""The measured peak of the processor."""

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

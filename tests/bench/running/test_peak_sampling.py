"""What a target's own code says of its peak, and what becomes of it where that code fails."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest

from harness import plugins
from harness.bench.running import peak_sampling
from harness.bench.running.peak_sampling import PeakRequest
from harness.bench.workers.protocol import Life, PeakMeasured
from harness.targets.base import TargetOptions

REQUEST = PeakRequest(target="mine", dtype="f32", bandwidths=True)


def fails() -> Any:
    raise ZeroDivisionError("division by zero")


@pytest.fixture
def sampled(monkeypatch: pytest.MonkeyPatch) -> Callable[..., PeakMeasured]:
    """Return a function that samples a target which says this of its peak and of its bandwidths."""

    def sample(
        peak: Callable[[], Any], bandwidths: Callable[[], Any], request: PeakRequest = REQUEST
    ) -> PeakMeasured:
        class Mine:
            def peak_dtype(self, dtype: str) -> str:
                return dtype

            def peak_flops(self, chip: str | None, dtype: str, options: TargetOptions) -> Any:
                return peak()

            def bandwidths(self, chip: str | None, options: TargetOptions, number: int) -> Any:
                return bandwidths()

        monkeypatch.setattr(plugins, "target", lambda name: Mine())
        monkeypatch.setattr(peak_sampling, "target_options", lambda name, values: TargetOptions())
        return request.answer(Life())

    return sample


@pytest.mark.parametrize("peak", [fails, lambda: math.nan, lambda: -1.0, lambda: "fast"])
def test_a_peak_that_fails_leaves_the_bandwidths(
    sampled: Callable[..., PeakMeasured], peak: Callable[[], Any]
) -> None:
    found = sampled(peak, lambda: {"L1": 5.0})
    assert (found.flops, found.bandwidths, list(found.faults)) == (None, {"L1": 5.0}, ["peak"])


@pytest.mark.parametrize("bandwidths", [fails, lambda: {"L1": math.nan}, lambda: None])
def test_bandwidths_that_fail_leave_the_peak(
    sampled: Callable[..., PeakMeasured], bandwidths: Callable[[], Any]
) -> None:
    found = sampled(lambda: 2.0, bandwidths)
    assert (found.flops, found.bandwidths, list(found.faults)) == (2.0, {}, ["bandwidths"])


def test_what_cannot_be_measured_is_no_fault(sampled: Callable[..., PeakMeasured]) -> None:
    assert sampled(lambda: None, dict) == PeakMeasured(flops=None)


def test_bandwidths_are_measured_only_for_who_asks(sampled: Callable[..., PeakMeasured]) -> None:
    found = sampled(lambda: 2.0, lambda: {"L1": 5.0}, REQUEST.model_copy(update={"bandwidths": False}))
    assert found == PeakMeasured(flops=2.0)


def test_levels_take_turns_and_the_best_of_each_counts(sampled: Callable[..., PeakMeasured]) -> None:
    rates = itertools.cycle([{"L1": 5.0}, {"memory": 1.0}, {"L1": 6.0}, {"memory": 2.0}])
    assert sampled(lambda: 2.0, lambda: next(rates)).bandwidths == {"L1": 6.0, "memory": 2.0}

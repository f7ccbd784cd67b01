"""What a target's own code says of its peak and of its bandwidths."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
from example_cases import example_case

from harness import plugins
from harness.bench.running import peak_sampling
from harness.bench.running.peak_sampling import sample_bandwidths, sample_flops
from harness.bench.workers.protocol import Life
from harness.targets.base import TargetOptions


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return a function that asks a target that says this of its peak or of its bandwidths."""

    def measure(sample: Callable[..., Any], says: Callable[[], Any]) -> Any:
        class Mine:
            def peak_flops(self, chip: str | None, unit: str, options: TargetOptions) -> Any:
                return says()

            def bandwidths(self, chip: str | None, options: TargetOptions, number: int) -> Any:
                return says()

        monkeypatch.setattr(plugins, "target", lambda name: Mine())
        monkeypatch.setattr(peak_sampling, "target_options", lambda name, values: TargetOptions())
        return sample(Life(), example_case(), *(["a unit"] if sample is sample_flops else []))

    return measure


@pytest.mark.parametrize(
    ("sample", "answer"),
    [
        (sample_flops, math.nan),
        (sample_flops, -1.0),
        (sample_flops, "fast"),
        (sample_bandwidths, {"L1": math.nan}),
        (sample_bandwidths, None),
    ],
)
def test_what_no_rate_can_be_is_refused(
    measured: Callable[..., Any], sample: Callable[..., Any], answer: Any
) -> None:
    with pytest.raises(ValueError, match="validation error"):
        measured(sample, lambda: answer)


def test_what_cannot_be_measured_is_no_fault(measured: Callable[..., Any]) -> None:
    assert measured(sample_flops, lambda: None) is None
    assert measured(sample_bandwidths, dict) == {}


def test_levels_take_turns_and_the_best_of_each_counts(measured: Callable[..., Any]) -> None:
    rates = itertools.cycle([{"L1": 5.0}, {"memory": 1.0}, {"L1": 6.0}, {"memory": 2.0}])
    assert measured(sample_bandwidths, lambda: next(rates)) == {"L1": 6.0, "memory": 2.0}

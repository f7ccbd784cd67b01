"""A sample of a target's peak and bandwidths, in the worker: what fails in one does not cost the other."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from pydantic import Field, TypeAdapter

from harness import plugins
from harness.bench.building.case_build import target_options
from harness.bench.workers.protocol import Life, Measured, PeakMeasured, Request
from harness.problem.case import ParameterValue
from harness.system.errors import one_line
from harness.system.numbers import Positive

SAMPLES_OF_A_LEVEL = 3
"""Samples of each level's bandwidth, of which the best counts."""
MOST_LEVELS = 16
"""Levels of memory that are waited for."""

FLOPS: TypeAdapter[float | None] = TypeAdapter(Positive | None)
BANDWIDTHS: TypeAdapter[dict[str, float]] = TypeAdapter(dict[str, Positive])


class PeakRequest(Request[PeakMeasured]):
    """Take a short sample of a target's peak and bandwidths."""

    target: str
    dtype: str
    target_options: dict[str, ParameterValue] = Field(default_factory=dict)
    bandwidths: bool = False
    """Whether bandwidths of all levels of memory are measured, too."""

    def answer(self, life: Life) -> PeakMeasured:
        """Take the sample: what a target says of its peak and bandwidths, and what failed of them."""
        target, chip = plugins.target(self.target), plugins.chip_of(self.target)
        options = target_options(self.target, self.target_options)
        faults: dict[Measured, str] = {}

        def flops() -> float | None:
            if not isinstance(target.peak_dtype(self.dtype), str):
                raise TypeError("peak_dtype: expected a type such as 'f32'")
            return FLOPS.validate_python(target.peak_flops(chip, self.dtype, options))

        def bandwidths() -> dict[str, float]:
            return _best_of_all_levels(lambda number: target.bandwidths(chip, options, number))

        return PeakMeasured(
            flops=_measured("peak", flops, faults),
            bandwidths=(_measured("bandwidths", bandwidths, faults) if self.bandwidths else None) or {},
            faults=faults,
        )


def _measured(what: Measured, measure: Callable[[], Any], faults: dict[Measured, str]) -> Any:
    """Return what a target's own code measures; where it fails, None with a fault."""
    try:
        return measure()
    except Exception as error:  # a plugin's own code
        faults[what] = one_line(error)
        return None


def _best_of_all_levels(sample: Callable[[int], Any]) -> dict[str, float]:
    """Return the best of a few samples of each level of memory, which take turns."""
    best: dict[str, float] = {}
    times: Counter[str] = Counter()
    for number in range(MOST_LEVELS * SAMPLES_OF_A_LEVEL):
        sampled = BANDWIDTHS.validate_python(sample(number))
        if not sampled or all(times[level] >= SAMPLES_OF_A_LEVEL for level in sampled):
            break
        for level, rate in sampled.items():
            times[level] += 1
            best[level] = max(rate, best.get(level, rate))
    return best

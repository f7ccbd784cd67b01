"""Samples of a target's peak and of its bandwidths, in the worker."""

from collections import Counter

from pydantic import TypeAdapter

from harness import plugins
from harness.bench.building.case_build import target_options
from harness.bench.workers.protocol import Life
from harness.problem.case import Case
from harness.system.numbers import Positive

SAMPLES_OF_A_LEVEL = 3
"""Samples of each level's bandwidth, of which the best counts."""
MOST_LEVELS = 16

FLOPS: TypeAdapter[float | None] = TypeAdapter(Positive | None)
BANDWIDTHS: TypeAdapter[dict[str, float]] = TypeAdapter(dict[str, Positive])


def sample_flops(life: Life, case: Case) -> float | None:
    """Return a short sample of the peak of a case's target in FLOP/s, None where nothing measures it."""
    target, dtype = plugins.target(case.target), case.problem.dtype
    if not isinstance(target.peak_dtype(dtype), str):
        raise TypeError("peak_dtype: expected a type such as 'f32'")
    options = target_options(case.target, case.target_options)
    return FLOPS.validate_python(target.peak_flops(plugins.chip_of(case.target), dtype, options))


def sample_bandwidths(life: Life, case: Case) -> dict[str, float]:
    """Return the best of a few samples in bytes/s of each level of memory of a case's target."""
    target, chip = plugins.target(case.target), plugins.chip_of(case.target)
    options = target_options(case.target, case.target_options)
    best: dict[str, float] = {}
    times: Counter[str] = Counter()
    for number in range(MOST_LEVELS * SAMPLES_OF_A_LEVEL):
        sampled = BANDWIDTHS.validate_python(target.bandwidths(chip, options, number))
        if not sampled or all(times[level] >= SAMPLES_OF_A_LEVEL for level in sampled):
            break
        for level, rate in sampled.items():
            times[level] += 1
            best[level] = max(rate, best.get(level, rate))
    return best

"""Samples of the peaks of a target's units and of its bandwidths, in the worker."""

from collections import Counter

from pydantic import TypeAdapter

from harness import plugins
from harness.bench.building.case_build import target_options
from harness.bench.workers.protocol import Life
from harness.problem.case import Case
from harness.system.numbers import Positive
from harness.system.processes.affinity import keep_on

SAMPLES_OF_A_LEVEL = 3
"""Samples of each level's bandwidth, of which the best counts."""
MOST_LEVELS = 16

FLOPS: TypeAdapter[float | None] = TypeAdapter(Positive | None)
BANDWIDTHS: TypeAdapter[dict[str, float]] = TypeAdapter(dict[str, Positive])


def sample_flops(life: Life, case: Case, unit: str, processor: int | None = None) -> float | None:
    """Return a short sample of a unit's peak in FLOP/s, None where nothing measures it.

    It is taken on a processor, where one is given, with the options of a case's target.
    """
    if processor is not None:
        keep_on(processor)
    options = target_options(case.target, case.target_options)
    target, chip = plugins.target(case.target), plugins.chip_of(case.target)
    return FLOPS.validate_python(target.peak_flops(chip, unit, options))


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

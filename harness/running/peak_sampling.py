"""A sample of a target's peak and bandwidths, in the worker: what fails in one does not cost the other."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field, TypeAdapter

from harness import plugins
from harness.building.case_build import target_options
from harness.errors import one_line
from harness.numbers import Positive
from harness.problem.case import ParameterValue
from harness.validation import shown
from harness.workers.protocol import Life, Measured, PeakMeasured, Request


def _is_a_number(value: Any) -> Any:
    """Refuse what is taken for a number elsewhere: a truth value, or a text."""
    if isinstance(value, bool | np.bool_ | str | bytes):
        raise ValueError(f"found {shown(value)}, expected a number")
    return value


SAMPLES_OF_A_LEVEL = 3
"""Samples of each level's bandwidth, of which the best counts."""
MOST_LEVELS = 16
"""Levels of memory that are waited for."""

Rate = Annotated[Positive, BeforeValidator(_is_a_number)]
FLOPS: TypeAdapter[float | None] = TypeAdapter(Rate | None)
BANDWIDTHS: TypeAdapter[dict[str, float]] = TypeAdapter(dict[str, Rate])


class PeakRequest(Request[PeakMeasured]):
    """Take a short sample of a target's peak and bandwidths."""

    target: str
    dtype: str
    target_options: dict[str, ParameterValue] = Field(default_factory=dict)
    bandwidths: bool = False
    """Whether bandwidths of all levels of memory are measured, too."""

    def answer(self, life: Life) -> PeakMeasured:
        """Take the sample."""
        return sample_peak(self)


def sample_peak(request: PeakRequest) -> PeakMeasured:
    """Return what a target says of its peak and of its bandwidths, and what failed of them."""
    target = plugins.target(request.target)
    options = target_options(request.target, request.target_options)
    chip = plugins.chip_of(request.target)
    faults: dict[Measured, str] = {}
    flops = _measured("peak", lambda: target.peak_flops(chip, request.dtype, options), FLOPS, faults)
    bandwidths = None
    if request.bandwidths:
        bandwidths = _measured(
            "bandwidths",
            lambda: _best_of_all_levels(lambda number: target.bandwidths(chip, options, number)),
            BANDWIDTHS,
            faults,
        )
    return PeakMeasured(flops=flops, bandwidths=bandwidths or {}, faults=faults)


def _measured(
    what: Measured, measure: Callable[[], Any], expected: TypeAdapter[Any], faults: dict[Measured, str]
) -> Any:
    """Return what a target's own code measures; where it fails, or is no such value, None with a fault."""
    found = None
    try:
        found = measure()
        return expected.validate_python(found)
    except ValueError as error:
        faults[what] = (
            one_line(error) if found is None else f"found {shown(found)}, expected positive numbers"
        )
    except Exception as error:  # a plugin's own code
        faults[what] = one_line(error)
    return None


def _best_of_all_levels(sample: Callable[[int], Any]) -> Any:
    """Return the best of a few samples of each level of memory, which take turns.

    What is no mapping is returned as it is.
    """
    best: dict[Any, Any] = {}
    times: Counter[Any] = Counter()
    for number in range(MOST_LEVELS * SAMPLES_OF_A_LEVEL):
        sampled = sample(number)
        if not isinstance(sampled, Mapping):
            return sampled
        if not sampled or all(times[level] >= SAMPLES_OF_A_LEVEL for level in sampled):
            break
        for level, rate in sampled.items():
            times[level] += 1
            best[level] = rate if level not in best or rate > best[level] else best[level]
    return best

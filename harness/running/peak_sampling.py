"""A sample of a target's peak and bandwidths, in the worker: what fails in one does not cost the other."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, TypeAdapter

from harness import plugins
from harness.building.case_build import target_options
from harness.errors import one_line, raise_interrupt
from harness.numbers import Positive
from harness.validation import shown
from harness.workers.protocol import Measured, PeakMeasured, PeakRequest


def _is_a_number(value: Any) -> Any:
    """Refuse what is taken for a number elsewhere: a truth value, or a text."""
    if isinstance(value, bool | np.bool_ | str | bytes):
        raise ValueError(f"found {shown(value)}, expected a number")
    return value


Rate = Annotated[Positive, BeforeValidator(_is_a_number)]
FLOPS: TypeAdapter[float | None] = TypeAdapter(Rate | None)
BANDWIDTHS: TypeAdapter[dict[str, float]] = TypeAdapter(dict[str, Rate])


def sample_peak(request: PeakRequest) -> PeakMeasured:
    """Return what a target says of its peak and of its bandwidths, and what failed of them."""
    target = plugins.target(request.target)
    options = target_options(request.target, request.target_options)
    chip = plugins.chip_of(request.target)
    faults: dict[Measured, str] = {}
    flops = _measured("peak", lambda: target.peak_flops(chip, request.dtype, options), FLOPS, faults)
    bandwidths = _measured(
        "bandwidths", lambda: _plain(target.bandwidths(chip, options, request.number)), BANDWIDTHS, faults
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
    except BaseException as error:  # a plugin's own code
        raise_interrupt(error)
        faults[what] = one_line(error)
    return None


def _plain(bandwidths: Any) -> Any:
    """Return any mapping as a dictionary."""
    return dict(bandwidths) if isinstance(bandwidths, Mapping) else bandwidths

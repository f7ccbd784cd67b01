"""Which measured peak a case is compared with: names by which peaks are known in a run."""

from dataclasses import dataclass

from harness import plugins
from harness.errors import one_line
from harness.problem.case import Case
from harness.validation import shown


@dataclass(frozen=True)
class NamedPeak:
    """Which peak a case is compared with."""

    name: str
    """In the manifest, `cpu f32 threads=2`: types that a target computes in the same way share a peak."""
    dtype: str
    """The type whose peak it is."""
    fault: str | None = None
    """What is wrong with the target's code where it cannot say the type; the name has the problem's then."""


def name_peak(case: Case) -> NamedPeak:
    """Return which peak a case is compared with, whatever its target's code does."""
    dtype: str = case.problem.dtype
    fault = None
    try:
        found = plugins.target(case.target).peak_dtype(dtype)
        if not isinstance(found, str):
            raise TypeError(f"found {shown(found)}, expected a type such as 'f32'")
        dtype = found
    except Exception as error:  # a plugin's own code
        fault = f"peak_dtype: {one_line(error)}"
    options = [f"{key}={value}" for key, value in sorted(case.target_options.items())]
    return NamedPeak(" ".join([case.target, dtype, *options]), dtype, fault)

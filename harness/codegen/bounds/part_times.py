"""Where the time of a kernel goes: cycles of each part, beside what its arithmetic takes at least."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PartTime:
    """A part of a kernel, summed over a call."""

    kernel: str
    name: str
    executions: int
    cycles: float
    """Of the cycle counter, in the shortest call."""
    ideal_cycles: float | None
    """What its arithmetic takes at the measured peak of the unit in use; None where it depends on data."""


@dataclass(frozen=True)
class PartTimes:
    """The parts of all kernels, each kernel's first one being the whole of it."""

    parts: tuple[PartTime, ...]
    calls: int
    unit: str
    """What multiplies."""
    unit_rate: float
    """Products that it makes while multiply-adds of f32 make one."""
    operations_per_cycle: float
    """Multiply-adds of f32 in a cycle of the counter at their peak."""
    operations_of_an_exponential: float
    overhead: float
    """Time of a call with stamps over that of one without, less 1."""
    no_counters: str
    """Why there are no hardware counters."""

"""What a device tells of a sample besides its time, and its driver of loaded code."""

from collections.abc import Iterable, Mapping
from statistics import median
from typing import Annotated, Literal, Self

from pydantic import Field

from harness.system.numbers import Count, Duration
from harness.system.validation import FrozenModel

Megahertz = Annotated[float, Field(ge=0, le=10**6)]

TimedBy = Literal["events", "graphs"]
"""What marks begin and end of calls on a device, see `harness.targets.gpu.event_timer`."""


class DriverMetrics(FrozenModel):
    """What a driver says of loaded code, all kernels together; None is what it does not tell."""

    driver_registers: Count | None = None
    """Registers of a thread, the most of all kernels."""
    driver_local_bytes: Count | None = None
    """Memory of a thread's own, where registers are spilled to, the most of all kernels."""


class DeviceFacts(FrozenModel):
    """One sample's, or medians over several; None is what a device does not tell."""

    timed_by: TimedBy | None = None
    """None: the host's clock."""
    launch_s: Duration | None = None
    """What a call takes besides, from an idle device to its result."""
    clock_mhz: Megahertz | None = None
    """The clock of the multiprocessors while the device was busy."""
    clock_before_mhz: Megahertz | None = None
    clock_after_mhz: Megahertz | None = None
    """The same right before the first call, and right after the last one."""
    temperature_c: Annotated[float, Field(ge=-273, le=1000)] | None = None
    """At the end of the sample."""
    energy_j: Annotated[float, Field(ge=0, le=1e9)] | None = None
    """The device's energy for one call, all that it takes meanwhile included."""

    @property
    def numbers(self) -> dict[str, float]:
        """Return what is known, but for what it was timed by."""
        return self.model_dump(exclude_none=True, exclude={"timed_by"})

    @classmethod
    def typical(cls, facts: Iterable[Self]) -> Self:
        """Return the median of each number, over those that know it."""
        all_facts = list(facts)
        values: dict[str, list[float]] = {}
        for each in all_facts:
            for name, value in each.numbers.items():
                values.setdefault(name, []).append(value)
        timed_by = next((each.timed_by for each in all_facts if each.timed_by is not None), None)
        return cls(timed_by=timed_by, **{name: median(numbers) for name, numbers in values.items()})

    @classmethod
    def joined(cls, facts: Iterable[Self]) -> Self:
        """Return what is true of several calls that follow one another: sums of what adds up."""
        all_facts = list(facts)
        sums: Mapping[str, float] = {
            name: sum(getattr(each, name) for each in all_facts)
            for name in ("launch_s", "energy_j")
            if all_facts and all(getattr(each, name) is not None for each in all_facts)
        }
        return cls.typical(all_facts).model_copy(update=dict(sums))

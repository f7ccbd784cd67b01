"""What is known of the kernels of a build without running them."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from harness.artifact.artifact import StaticMetrics
from harness.targets.gpu.launch import GpuKernel

NO_INTRINSICS = "none"


@dataclass(frozen=True)
class KernelMetrics:
    """What a toolchain says of one kernel; None is what it does not say."""

    name: str | None = None
    registers: int | None = None
    spills: int | None = None
    accumulator_registers: int | None = None
    scalar_registers: int | None = None
    scratch_bytes: int | None = None
    shared_bytes: int | None = None
    workgroup_size: int | None = None


def combine(kernels: Sequence[KernelMetrics]) -> StaticMetrics:
    """Return the metrics of kernels that run one after another."""
    names = [field.name for field in fields(KernelMetrics) if field.name not in ("name", "spills")]
    largest: dict[str, Any] = {name: _largest(getattr(kernel, name) for kernel in kernels) for name in names}
    return StaticMetrics(spills=_total(kernel.spills for kernel in kernels), **largest)


def instructions(pattern: re.Pattern[str], assemblies: Iterable[str]) -> str:
    """Return the different instructions that match a pattern, as the column `intrinsics` has them."""
    names = {instruction for text in assemblies for instruction in pattern.findall(text)}
    return ",".join(sorted(names)) or NO_INTRINSICS


def registers_by_kernel(kernels: Iterable[KernelMetrics]) -> dict[str, int]:
    """Return the registers of a lane of each kernel, where they are known."""
    return {
        kernel.name: kernel.registers
        for kernel in kernels
        if kernel.name is not None and kernel.registers is not None
    }


def least_occupancy(
    launched: Sequence[GpuKernel], registers: Mapping[str, int], occupancy: Callable[[int, int, int], float]
) -> float | None:
    """Return the least occupancy of all kernels, where it is known how many registers each needs.

    `occupancy` takes the threads of a workgroup, the registers of one and the shared memory of all.
    """
    if any(kernel.name not in registers for kernel in launched):
        return None
    return min(occupancy(kernel.threads, registers[kernel.name], kernel.shared_bytes) for kernel in launched)


def _known(values: Iterable[int | None]) -> list[int]:
    return [value for value in values if value is not None]


def _largest(values: Iterable[int | None]) -> int | None:
    return max(_known(values), default=None)


def _total(values: Iterable[int | None]) -> int | None:
    numbers = _known(values)
    return sum(numbers) if numbers else None

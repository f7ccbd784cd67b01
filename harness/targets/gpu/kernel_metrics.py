"""What is known of the kernels of a build without running them."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from harness.artifact.artifact import StaticMetrics
from harness.targets.gpu.launch import GpuKernel

NO_INTRINSICS = "none"
LARGEST = (
    "registers",
    "accumulator_registers",
    "scalar_registers",
    "scratch_bytes",
    "shared_bytes",
    "workgroup_size",
)
"""What kernels need one after another: as much as the one that needs most."""


class KernelMetrics(StaticMetrics):
    """What a toolchain says of one kernel; None is what it does not say."""

    name: str | None = None


def combine(kernels: Sequence[StaticMetrics]) -> StaticMetrics:
    """Return the metrics of kernels that run one after another."""
    largest = {name: max(_stated(kernels, name), default=None) for name in LARGEST}
    spills = _stated(kernels, "spills")
    return StaticMetrics.model_validate({**largest, "spills": sum(spills) if spills else None})


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


def _stated(kernels: Sequence[StaticMetrics], name: str) -> list[int]:
    values = [getattr(kernel, name) for kernel in kernels]
    return [value for value in values if value is not None]

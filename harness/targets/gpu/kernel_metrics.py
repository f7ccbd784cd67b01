"""What is known of the kernels of a build without running them."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.artifact.artifact import StaticMetrics

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
    return StaticMetrics(
        registers=_largest(kernel.registers for kernel in kernels),
        spills=_total(kernel.spills for kernel in kernels),
        accumulator_registers=_largest(kernel.accumulator_registers for kernel in kernels),
        scalar_registers=_largest(kernel.scalar_registers for kernel in kernels),
        scratch_bytes=_largest(kernel.scratch_bytes for kernel in kernels),
        shared_bytes=_largest(kernel.shared_bytes for kernel in kernels),
        workgroup_size=_largest(kernel.workgroup_size for kernel in kernels),
    )


def instructions(pattern: re.Pattern[str], assemblies: Iterable[str]) -> str:
    """Return the different instructions that match a pattern, as the column `intrinsics` has them."""
    found = {instruction for text in assemblies for instruction in pattern.findall(text)}
    return ",".join(sorted(found)) or NO_INTRINSICS


def _known(values: Iterable[int | None]) -> list[int]:
    return [value for value in values if value is not None]


def _largest(values: Iterable[int | None]) -> int | None:
    return max(_known(values), default=None)


def _total(values: Iterable[int | None]) -> int | None:
    known = _known(values)
    return sum(known) if known else None

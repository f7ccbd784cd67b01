"""Kernels as AMD's driver takes them, and what their metadata and assembly say of them."""

from collections.abc import Mapping, Sequence

from harness.targets.gpu.kernel_build import DeviceCode
from harness.targets.gpu.kernel_metrics import instructions
from harness.targets.gpu.launch import GpuKernel
from harness.targets.object_files import code_bytes
from harness.targets.rocm.chips import CHIPS
from harness.targets.rocm.code_object import CODE_OBJECT_FILE, MATRIX_INSTRUCTION, kernel_metrics
from harness.targets.rocm.compute_unit import occupancy
from harness.targets.rocm.instruction_classes import instruction_classes


def device_code(assembly: str, code_object: bytes, kernels: Sequence[GpuKernel], chip: str) -> DeviceCode:
    """Return machine code with what is known of it."""
    metrics = kernel_metrics(assembly)
    registers = {found.name: found.registers for found in metrics if found.registers is not None}
    return DeviceCode(
        image=code_object,
        files={CODE_OBJECT_FILE: code_object},
        kernels=metrics,
        occupancy=_least_occupancy(kernels, registers, chip),
        intrinsics=instructions(MATRIX_INSTRUCTION, [assembly]),
        instructions=instruction_classes(assembly),
        code_bytes=code_bytes(code_object),
    )


def _least_occupancy(
    launched: Sequence[GpuKernel], registers: Mapping[str | None, int], chip: str
) -> float | None:
    """Return the least occupancy of all kernels, where it is known how many registers each needs."""
    if any(kernel.name not in registers for kernel in launched):
        return None
    return min(
        occupancy(kernel.threads, registers[kernel.name], kernel.shared_bytes, CHIPS[chip])
        for kernel in launched
    )

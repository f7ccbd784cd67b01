"""Kernels as AMD's driver takes them, and what their assembly says of them."""

from collections.abc import Sequence
from functools import partial

from harness.targets.gpu.kernel_build import DeviceCode
from harness.targets.gpu.kernel_metrics import combine, instructions, least_occupancy, registers_by_kernel
from harness.targets.gpu.launch import GpuKernel
from harness.targets.object_files import code_bytes
from harness.targets.rocm.chips import CHIPS, occupancy
from harness.targets.rocm.code_object import (
    CODE_OBJECT_FILE,
    MATRIX_INSTRUCTION,
    instruction_classes,
    kernel_metrics,
)


def device_code(assembly: str, code_object: bytes, kernels: Sequence[GpuKernel], chip: str) -> DeviceCode:
    """Return a code object, with the figures that stand in its assembly."""
    assembled = kernel_metrics(assembly)
    residency = partial(occupancy, chip=CHIPS[chip])
    known = {
        "occupancy": least_occupancy(kernels, registers_by_kernel(assembled), residency),
        "intrinsics": instructions(MATRIX_INSTRUCTION, [assembly]),
        "instructions": instruction_classes(assembly),
        "code_bytes": code_bytes(code_object),
    }
    metrics = combine(assembled).model_copy(update=known)
    return DeviceCode(code_object, {CODE_OBJECT_FILE: code_object}, metrics)

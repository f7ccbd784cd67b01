"""Kernels as AMD's driver takes them, and what their metadata and assembly say of them."""

from collections.abc import Sequence
from functools import partial

from harness.targets.gpu.kernel_build import DeviceCode
from harness.targets.gpu.kernel_metrics import instructions, least_occupancy, registers_by_kernel
from harness.targets.gpu.launch import GpuKernel
from harness.targets.object_files import code_bytes
from harness.targets.rocm.chips import CHIPS, occupancy
from harness.targets.rocm.code_object import CODE_OBJECT_FILE, MATRIX_INSTRUCTION, kernel_metrics
from harness.targets.rocm.instruction_classes import instruction_classes


def device_code(assembly: str, code_object: bytes, kernels: Sequence[GpuKernel], chip: str) -> DeviceCode:
    """Return machine code with what is known of it."""
    metrics = kernel_metrics(assembly)
    return DeviceCode(
        image=code_object,
        files={CODE_OBJECT_FILE: code_object},
        kernels=metrics,
        occupancy=least_occupancy(
            kernels, registers_by_kernel(metrics), partial(occupancy, chip=CHIPS[chip])
        ),
        intrinsics=instructions(MATRIX_INSTRUCTION, [assembly]),
        instructions=instruction_classes(assembly),
        code_bytes=code_bytes(code_object),
    )

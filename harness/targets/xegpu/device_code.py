"""Kernels as drivers of Intel's GPUs take them, a module of SPIR-V, and what can be read off it."""

import re

from harness.targets.gpu.kernel_build import DeviceCode
from harness.targets.gpu.kernel_metrics import instructions
from harness.targets.xegpu.device import SPIRV_FILE
from harness.targets.xegpu.instruction_classes import instruction_classes

MATRIX_BUILTIN = re.compile(r"intel_sub_group_\w+_matrix_mad_k\d+")


def device_code(assembly: str, image: bytes) -> DeviceCode:
    """Return a module with what is known of it; only a driver's compiler knows its registers."""
    return DeviceCode(
        image=image,
        files={SPIRV_FILE: image},
        intrinsics=instructions(MATRIX_BUILTIN, [assembly]),
        instructions=instruction_classes(assembly),
        code_bytes=len(image),
    )

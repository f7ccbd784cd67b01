"""Kernels as drivers of Intel's GPUs take them, a module of SPIR-V, and what can be read off it."""

import re

from harness.targets.gpu.kernel_build import DeviceCode
from harness.targets.gpu.kernel_metrics import KernelMetrics, instructions
from harness.targets.xegpu.chips import Chip
from harness.targets.xegpu.device import SPIRV_FILE
from harness.targets.xegpu.instruction_classes import instruction_classes, main_loop
from harness.targets.xegpu.registers import most_live_registers
from harness.targets.xegpu.spirv_text import parsed

MATRIX_BUILTIN = re.compile(r"intel_sub_group_\w+_matrix_mad_k\d+")


def device_code(assembly: str, image: bytes, chip: Chip) -> tuple[DeviceCode, str]:
    """Return a module with what is known of it, and the same as comments to its assembly.

    Registers are an estimate, as a driver compiles the module.
    """
    module = parsed(assembly)
    registers = most_live_registers(module, chip.register_bytes)
    code = DeviceCode(
        image=image,
        files={SPIRV_FILE: image},
        kernels=[KernelMetrics(name=name, registers=count) for name, count in registers.items()],
        intrinsics=instructions(MATRIX_BUILTIN, [assembly]),
        instructions=instruction_classes(module),
        code_bytes=len(image),
    )
    lines = [
        f"; {name}: about {count} registers of {chip.register_bytes} bytes live at a time"
        for name, count in registers.items()
    ]
    loop = main_loop(module)
    if loop is not None:
        counted = ", ".join(f"{count} {name}" for name, count in loop.most_common())
        lines.append(f"; main loop, of a sub-group and iteration: {counted}")
    return code, "\n".join(lines) + "\n"

"""Kernels as NVIDIA's driver takes them, and what PTX and ptxas say of them."""

from collections.abc import Mapping, Sequence
from functools import partial

from harness.artifact.artifact import StaticMetrics
from harness.codegen.bounds.loop_model import LoopModel, Unmodelled
from harness.targets.cuda import ptx
from harness.targets.cuda.device import CUBIN_FILE, PTX_FILE
from harness.targets.cuda.kernel_bounds import kernel_bounds
from harness.targets.cuda.multiprocessor import occupancy
from harness.targets.cuda.ptxas import Assembled
from harness.targets.gpu.kernel_build import DeviceCode
from harness.targets.gpu.kernel_metrics import combine, instructions, least_occupancy, registers_by_kernel
from harness.targets.gpu.launch import GpuKernel
from harness.targets.object_files import code_bytes


def device_code(
    assembly: str, assembled: Assembled | None, kernels: Sequence[GpuKernel], chip: str
) -> DeviceCode:
    """Return PTX, and the machine code where something has assembled it."""
    files = {PTX_FILE: assembly.encode()}
    intrinsics = instructions(ptx.MATRIX_INSTRUCTION, [assembly])
    if assembled is None:
        return DeviceCode(assembly.encode(), files, StaticMetrics(intrinsics=intrinsics))
    registers = registers_by_kernel(assembled.kernels)
    known = {
        "occupancy": least_occupancy(kernels, registers, partial(occupancy, chip=chip)),
        "intrinsics": intrinsics,
        "instructions": assembled.instructions or {},
        "model": _model(assembled.disassembly, kernels, registers, chip),
        "code_bytes": code_bytes(assembled.cubin),
    }
    metrics = combine(assembled.kernels).model_copy(update=known)
    return DeviceCode(assembly.encode(), {**files, CUBIN_FILE: assembled.cubin}, metrics)


def _model(
    disassembly: str | None, kernels: Sequence[GpuKernel], registers: Mapping[str, int], chip: str
) -> LoopModel | None:
    if disassembly is None:
        return None
    try:
        return kernel_bounds(disassembly, kernels, registers, chip).model
    except Unmodelled:
        return None

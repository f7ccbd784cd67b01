"""Kernels as NVIDIA's driver takes them, and what PTX and ptxas say of them."""

from collections.abc import Sequence

from harness.targets.cuda import ptx
from harness.targets.cuda.images import CUBIN_FILE, PTX_FILE
from harness.targets.cuda.multiprocessor import occupancy
from harness.targets.cuda.ptxas import Assembled
from harness.targets.gpu.kernel_build import DeviceCode
from harness.targets.gpu.kernel_metrics import KernelMetrics, instructions
from harness.targets.gpu.launch import GpuKernel
from harness.targets.object_files import code_bytes


def device_code(
    assembly: str, assembled: Assembled | None, kernels: Sequence[GpuKernel], chip: str
) -> DeviceCode:
    """Return PTX, and the machine code where something has assembled it."""
    files = {PTX_FILE: assembly.encode()}
    intrinsics = instructions(ptx.MATRIX_INSTRUCTION, [assembly])
    if assembled is None:
        return DeviceCode(image=assembly.encode(), files=files, intrinsics=intrinsics)
    return DeviceCode(
        image=assembly.encode(),
        files={**files, CUBIN_FILE: assembled.cubin},
        kernels=assembled.kernels,
        occupancy=_least_occupancy(kernels, assembled.kernels, chip),
        intrinsics=intrinsics,
        instructions=assembled.instructions or {},
        code_bytes=code_bytes(assembled.cubin),
    )


def _least_occupancy(
    launched: Sequence[GpuKernel], assembled: Sequence[KernelMetrics], chip: str
) -> float | None:
    """Return the least occupancy of all kernels, where it is known how many registers each needs."""
    registers = {metrics.name: metrics.registers for metrics in assembled if metrics.registers is not None}
    if any(kernel.name not in registers for kernel in launched):
        return None
    return min(
        occupancy(kernel.threads, registers[kernel.name], kernel.shared_bytes, chip) for kernel in launched
    )

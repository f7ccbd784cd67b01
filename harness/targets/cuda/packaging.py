"""What kernels for NVIDIA's GPUs leave in an artifact: files, ways to run them, and metrics."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.artifact.artifact import Loader, StaticMetrics
from harness.emulator import ARTIFACT_FOLDER
from harness.emulator.device_code import EmulatorCode, compile_for_emulator
from harness.emulator.devices import device
from harness.emulator.native_library import MISSING, compiler
from harness.emulator.saved_code import ImageCode, save
from harness.errors import BuildError, InputError
from harness.targets.cuda import device as device_executor
from harness.targets.cuda import ptx
from harness.targets.cuda.images import save_images
from harness.targets.cuda.multiprocessor import occupancy
from harness.targets.cuda.ptxas import Assembled
from harness.targets.executors import choose
from harness.targets.gpu.kernel_metrics import KernelMetrics, combine, instructions
from harness.targets.gpu.launch import GpuKernel, GpuLaunch
from harness.targets.object_files import code_bytes

DEVICE_LOADER = Loader(
    executor="device",
    function="harness.targets.cuda.device.kernels:load",
    packages=device_executor.PACKAGES,
    install=device_executor.INSTALL,
)
EMULATOR_LOADER = Loader(
    executor="emulator",
    function="harness.targets.gpu.emulated:load",
    packages=("llvmlite",),
    install="llvmlite",
)


@dataclass(frozen=True)
class KernelCode:
    """Kernels in the forms that are executed."""

    ptx: str
    assembled: Assembled | None
    """Machine code; None where nothing assembles it."""
    emulation: EmulatorCode | str
    """The kernels for the emulator, or why it does not run them."""


def emulator_code(
    llvm_ir: str, chip: str, timed: Callable[[Callable[[], str]], object]
) -> EmulatorCode | str:
    """Return kernels as the emulator runs them, or why it does not.

    `timed` runs the work, which returns the text that the emulator's findings refer to.
    """
    if compiler() is None:
        return f"for the emulator: {MISSING}"
    codes: list[EmulatorCode] = []

    def emulate() -> str:
        codes.append(compile_for_emulator(llvm_ir, device(chip)))
        return codes[0].device_code

    try:
        timed(emulate)
    except (BuildError, InputError) as error:
        return f"the emulator refuses the code: {error}"
    return codes[0]


def execution(code: KernelCode, launch: GpuLaunch, target: str, folder: Path) -> dict[str, Any]:
    """Write what devices and the emulator need to the folder; return the artifact's fields on running it."""
    save_images(folder, code.ptx, code.assembled.cubin if code.assembled is not None else None)
    loaders = [DEVICE_LOADER]
    refusal = None
    if isinstance(code.emulation, str):
        refusal = code.emulation
    else:
        save(folder / ARTIFACT_FOLDER, [ImageCode(code.ptx.encode(), code.emulation)])
        loaders.append(EMULATOR_LOADER)
    choice = choose(loaders, target)
    why_not = "; ".join(filter(None, (choice.why_not, refusal))) if choice.why_not else None
    return {
        "executor": choice.executor,
        "loader": choice.function,
        "loaders": tuple(loaders),
        "launch": launch.as_json(),
        "why_not_run": why_not,
    }


def metrics(code: KernelCode, launch: GpuLaunch) -> StaticMetrics:
    """Return what PTX says, and the assembler where it is there."""
    launched = [
        KernelMetrics(shared_bytes=kernel.shared_bytes, workgroup_size=kernel.threads)
        for kernel in launch.kernels
    ]
    assembled = code.assembled
    kernels = assembled.kernels if assembled is not None else []
    return combine([*launched, *kernels]).model_copy(
        update={
            "occupancy": _least_occupancy(launch.kernels, kernels, launch.chip),
            "intrinsics": instructions(ptx.MATRIX_INSTRUCTION, [code.ptx]),
            "instructions": (assembled.instructions if assembled is not None else None) or {},
            "code_bytes": code_bytes(assembled.cubin) if assembled is not None else None,
            "workspace_bytes": launch.workspace_bytes,
        }
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

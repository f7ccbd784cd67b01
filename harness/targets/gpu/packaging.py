"""What kernels for a GPU leave in an artifact: files, ways to run them, and metrics."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.artifact.artifact import Loader, StaticMetrics
from harness.emulator import ARTIFACT_FOLDER
from harness.emulator.device_code import EmulatorCode, ImageCode, compile_for_emulator, save
from harness.emulator.devices import Device
from harness.emulator.native_library import MISSING, compiler
from harness.problem.case import Case
from harness.system.errors import BuildError, InputError
from harness.targets.base import Stage
from harness.targets.executors import run_here
from harness.targets.gpu.kernel_metrics import LARGEST, combine
from harness.targets.gpu.launch import GpuLaunch
from harness.targets.lowering.stage_recorder import StageRecorder

if TYPE_CHECKING:
    from harness.targets.gpu.kernel_build import DeviceCode

EMULATED = Stage("emulated", "device code as the emulator takes it, which its findings refer to")


def emulate(llvm_ir: str, device: Device, recorder: StageRecorder) -> EmulatorCode | str:
    """Return kernels as the emulator runs them, or why it does not; the stage's output is recorded."""
    if compiler() is None:
        return f"for the emulator: {MISSING}"
    codes: list[EmulatorCode] = []

    def compiled() -> str:
        codes.append(compile_for_emulator(llvm_ir, device))
        return codes[0].device_code

    try:
        recorder.record(EMULATED, compiled)
    except (BuildError, InputError) as error:
        return f"the emulator refuses the code: {error}"
    return codes[0]


EMULATOR_LOADER = Loader(
    executor="emulator",
    function="harness.targets.gpu.emulator_driver:load",
    packages=("llvmlite",),
    install="llvmlite",
)


def execution(
    code: "DeviceCode",
    emulation: EmulatorCode | str,
    launch: GpuLaunch,
    device_loader: Loader,
    case: Case,
    folder: Path,
    further_loaders: Sequence[Loader] = (),
) -> dict[str, Any]:
    """Write what devices and the emulator need to the folder; return the artifact's fields on running it.

    `emulation` is the kernels for the emulator, or why it does not run them; `further_loaders` run the
    device's code, where neither a device nor the emulator does, or where a case asks for them.
    """
    for name, content in code.files.items():
        (folder / name).write_bytes(content)
    loaders = [device_loader]
    refusal = None
    if isinstance(emulation, str):
        refusal = emulation
    else:
        save(folder / ARTIFACT_FOLDER, [ImageCode(code.image, emulation)])
        loaders.append(EMULATOR_LOADER)
    loaders.extend(further_loaders)
    return {"launch": launch.as_json(), **run_here(loaders, case, refusal)}


def static_metrics(code: "DeviceCode", launch: GpuLaunch) -> StaticMetrics:
    """Return what launches say of kernels, and the vendor's tools."""
    launched = [
        StaticMetrics(shared_bytes=kernel.shared_bytes, workgroup_size=kernel.threads)
        for kernel in launch.kernels
    ]
    needs = combine([*launched, code.metrics]).model_dump(include={"spills", *LARGEST})
    return code.metrics.model_copy(update={**needs, "workspace_bytes": launch.workspace_bytes})

"""What kernels for a GPU leave in an artifact: files, ways to run them, and metrics."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.artifact.artifact import Loader, StaticMetrics
from harness.emulator import ARTIFACT_FOLDER
from harness.emulator.device_code import EmulatorCode
from harness.emulator.saved_code import ImageCode, save
from harness.problem.case import Case
from harness.targets.executors import choose
from harness.targets.gpu.kernel_build import DeviceCode
from harness.targets.gpu.kernel_metrics import LARGEST, combine
from harness.targets.gpu.launch import GpuLaunch

EMULATOR_LOADER = Loader(
    executor="emulator",
    function="harness.targets.gpu.emulator_driver:load",
    packages=("llvmlite",),
    install="llvmlite",
)


def execution(
    code: DeviceCode,
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
    choice = choose(loaders, case)
    is_run = choice.executor != "none"
    why_not = None if is_run else "; ".join(filter(None, (choice.why_not, refusal)))
    return {
        "executor": choice.executor,
        "loader": choice.function,
        "loaders": tuple(loaders),
        "launch": launch.as_json(),
        "why_not_run": why_not,
    }


def static_metrics(code: DeviceCode, launch: GpuLaunch) -> StaticMetrics:
    """Return what launches say of kernels, and the vendor's tools."""
    launched = [
        StaticMetrics(shared_bytes=kernel.shared_bytes, workgroup_size=kernel.threads)
        for kernel in launch.kernels
    ]
    needs = combine([*launched, code.metrics]).model_dump(include={"spills", *LARGEST})
    return code.metrics.model_copy(update={**needs, "workspace_bytes": launch.workspace_bytes})

"""What runs IREE's device code here: a device, else the emulator, else nothing, and then why not."""

import time
from collections.abc import Sequence
from typing import Any

from harness.artifact.artifact import ExecutorName, Loader
from harness.emulator import ARTIFACT_FOLDER
from harness.problem.case import Case
from harness.system.errors import BuildError, InputError
from harness.targets.executors import run_here
from harness.variants.baselines.iree.compilation import Compilation, Image


def _loader(executor: ExecutorName, function: str) -> Loader:
    return Loader(
        executor=executor,
        function=f"harness.variants.baselines.iree.{function}",
        packages=("iree.runtime",),
        install="iree-base-runtime",
    )


DEVICE = _loader("device", "calls:load_on_device")
EMULATOR = _loader("emulator", "emulated:load")


def gpu_execution(case: Case, compilation: Compilation, images: Sequence[Image]) -> dict[str, Any]:
    """Return an artifact's fields on running device code; write what the emulator needs."""
    refusal = _emulate(compilation, images)
    loaders = (DEVICE,) if refusal is not None else (DEVICE, EMULATOR)
    return run_here(loaders, case, refusal)


def _emulate(compilation: Compilation, images: Sequence[Image]) -> str | None:
    """Compile device code for the emulator; return None, or why it does not run it."""
    from harness.emulator.device_code import ImageCode, compile_for_emulator, save
    from harness.emulator.devices import device
    from harness.emulator.native_library import MISSING, compiler

    if compiler() is None:
        return f"for the emulator: {MISSING}"
    started, model = time.perf_counter(), device(compilation.target.chip)
    try:
        codes = [ImageCode(image.code, compile_for_emulator(image.llvm_ir, model)) for image in images]
    except (BuildError, InputError) as error:
        return f"the emulator refuses the code: {error}"
    save(compilation.folder / ARTIFACT_FOLDER, codes)
    compilation.keep("emulated", "\n".join(image.code.device_code for image in codes))
    compilation.stage_seconds["emulated"] = time.perf_counter() - started
    return None

"""What runs IREE's device code here: a device, else the emulator, else nothing, and then why not."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.artifact.artifact import ExecutorName, Loader
from harness.emulator import ARTIFACT_FOLDER
from harness.system.errors import BuildError, InputError
from harness.variants.baselines.iree.compilation import Image
from harness.variants.baselines.iree.targets import IreeTarget

RUNTIME, RUNTIME_PACKAGE = "iree.runtime", "iree-base-runtime"

LOADERS: dict[ExecutorName, str] = {
    "native": "harness.variants.baselines.iree.calls:load",
    "device": "harness.variants.baselines.iree.calls:load_on_device",
    "emulator": "harness.variants.baselines.iree.emulated:load",
    "none": "",
}


@dataclass(frozen=True)
class Executor:
    """What runs the code of a build."""

    name: ExecutorName
    why_not: str | None = None
    """Why it is `none`."""
    device_code: str | None = None
    """What the lines of the emulator's findings refer to."""

    @property
    def loader(self) -> str:
        """Return the function that loads the artifact."""
        return LOADERS[self.name]

    @property
    def loaders(self) -> tuple[Loader, ...]:
        """Return how another machine may load it: on a device, or as this one does on the emulator."""
        if self.name == "native":
            return ()
        names: tuple[ExecutorName, ...] = ("device", "emulator") if self.name == "emulator" else ("device",)
        return tuple(
            Loader(executor=name, function=LOADERS[name], packages=(RUNTIME,), install=RUNTIME_PACKAGE)
            for name in names
        )


def choose_executor(target: IreeTarget, images: Sequence[Image], folder: Path) -> Executor:
    """Return the executor of code for a GPU; what the emulator needs is written to the folder."""
    from harness.emulator.native_library import MISSING, compiler

    if target.has_device:
        return Executor("device")
    if compiler() is None:
        return Executor("none", f"no device, and for the emulator: {MISSING}")
    try:
        device_code = _emulate(images, target.chip, folder / ARTIFACT_FOLDER)
    except (BuildError, InputError) as error:
        return Executor("none", f"no device, and the emulator refuses the code: {error}")
    return Executor("emulator", device_code=device_code)


def _emulate(images: Sequence[Image], chip: str, folder: Path) -> str:
    """Compile device code for the emulator; return it in the LLVM dialect."""
    from harness.emulator.device_code import ImageCode, compile_for_emulator, save
    from harness.emulator.devices import device

    model = device(chip)
    codes = [ImageCode(image.code, compile_for_emulator(image.llvm_ir, model)) for image in images]
    save(folder, codes)
    return "\n".join(image.code.device_code for image in codes)

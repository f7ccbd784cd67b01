"""From device code to kernels that can be launched, also by way of a folder, whose reader needs no MLIR."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter

from harness.emulator.devices import Device, device
from harness.emulator.importing import imported
from harness.emulator.loading import LoadedKernel, load, object_file
from harness.emulator.retarget.retargeted import Retargeted
from harness.system.validation import FrozenModel


@dataclass(frozen=True)
class EmulatorCode:
    """Device code compiled for the emulator."""

    device_code: str
    """In the LLVM dialect: what the lines of findings refer to."""
    retargeted: Retargeted
    object_file: bytes
    device: Device

    def load(self) -> dict[str, LoadedKernel]:
        """Load the code into this process; returns its kernels by name."""
        return load(self.retargeted, self.object_file, self.device)


def compile_for_emulator(llvm_ir: str, device: Device) -> EmulatorCode:
    """Compile what a device's back end receives, LLVM IR text, for the emulator.

    Raises `BuildError` with the name of what the emulator has no model of.
    """
    from harness.emulator.retarget.retarget import retarget

    device_code = imported(llvm_ir)
    retargeted = retarget(device_code, device.models)
    return EmulatorCode(device_code, retargeted, object_file(retargeted.llvm_ir), device)


INDEX_FILE = "codes.json"


@dataclass(frozen=True)
class ImageCode:
    """Device code twice: as a driver gets it, and as the emulator runs it."""

    image: bytes
    """What a driver's module is loaded from, PTX text or an ELF file: by it the emulator knows the code."""
    code: EmulatorCode


class _SavedCode(FrozenModel):
    """What is known of one image's code beside its files, which its number names."""

    chip: str
    retargeted: Retargeted
    """Without its LLVM IR, which is in a file of its own."""


_INDEX = TypeAdapter(list[_SavedCode])


def save(folder: Path, images: Sequence[ImageCode]) -> None:
    """Write images and their code to a folder, which is made if there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, image in enumerate(images):
        code = image.code
        (folder / f"{number}.image").write_bytes(image.image)
        (folder / f"{number}.o").write_bytes(code.object_file)
        (folder / f"{number}.mlir").write_text(code.device_code, encoding="utf-8")
        (folder / f"{number}.ll").write_text(code.retargeted.llvm_ir, encoding="utf-8")
    saved = [
        _SavedCode(chip=image.code.device.chip, retargeted=replace(image.code.retargeted, llvm_ir=""))
        for image in images
    ]
    (folder / INDEX_FILE).write_bytes(_INDEX.dump_json(saved, indent=1))


def load_saved(folder: Path) -> list[ImageCode]:
    """Return what `save` has written to a folder."""
    index = _INDEX.validate_json((folder / INDEX_FILE).read_bytes())
    return [_load(folder, number, saved) for number, saved in enumerate(index)]


def _load(folder: Path, number: int, saved: _SavedCode) -> ImageCode:
    llvm_ir = (folder / f"{number}.ll").read_text(encoding="utf-8")
    code = EmulatorCode(
        device_code=(folder / f"{number}.mlir").read_text(encoding="utf-8"),
        retargeted=replace(saved.retargeted, llvm_ir=llvm_ir),
        object_file=(folder / f"{number}.o").read_bytes(),
        device=device(saved.chip),
    )
    return ImageCode((folder / f"{number}.image").read_bytes(), code)

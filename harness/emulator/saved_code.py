"""Emulator code in a folder: what a build leaves for the process that runs it, which needs no MLIR."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter

from harness.emulator.device_code import EmulatorCode
from harness.emulator.devices import device
from harness.emulator.retarget.retargeted import Retargeted

INDEX_FILE = "codes.json"


@dataclass(frozen=True)
class ImageCode:
    """Device code twice: as a driver gets it, and as the emulator runs it."""

    image: bytes
    """What a driver's module is loaded from, PTX text or an ELF file: by it the emulator knows the code."""
    code: EmulatorCode


class _SavedCode(BaseModel):
    """What is known of one image's code beside its files, which its number names."""

    model_config = ConfigDict(frozen=True, extra="forbid")

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

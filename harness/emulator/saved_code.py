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
    """The files of one image, and what is known of the code in them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    chip: str
    image_file: str
    object_file: str
    device_code_file: str
    llvm_ir_file: str
    retargeted: Retargeted
    """Without its LLVM IR, which is in a file of its own."""


_INDEX = TypeAdapter(list[_SavedCode])


def save(folder: Path, images: Sequence[ImageCode]) -> None:
    """Write images and their code to a folder, which is made if there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    saved = [_save(folder, number, image) for number, image in enumerate(images)]
    (folder / INDEX_FILE).write_bytes(_INDEX.dump_json(saved, indent=1))


def load_saved(folder: Path) -> list[ImageCode]:
    """Return what `save` has written to a folder."""
    return [_load(folder, saved) for saved in _INDEX.validate_json((folder / INDEX_FILE).read_bytes())]


def _save(folder: Path, number: int, image: ImageCode) -> _SavedCode:
    code = image.code
    saved = _SavedCode(
        chip=code.device.chip,
        image_file=f"{number}.image",
        object_file=f"{number}.o",
        device_code_file=f"{number}.mlir",
        llvm_ir_file=f"{number}.ll",
        retargeted=replace(code.retargeted, llvm_ir=""),
    )
    (folder / saved.image_file).write_bytes(image.image)
    (folder / saved.object_file).write_bytes(code.object_file)
    (folder / saved.device_code_file).write_text(code.device_code, encoding="utf-8")
    (folder / saved.llvm_ir_file).write_text(code.retargeted.llvm_ir, encoding="utf-8")
    return saved


def _load(folder: Path, saved: _SavedCode) -> ImageCode:
    code = EmulatorCode(
        device_code=(folder / saved.device_code_file).read_text(encoding="utf-8"),
        retargeted=replace(
            saved.retargeted, llvm_ir=(folder / saved.llvm_ir_file).read_text(encoding="utf-8")
        ),
        object_file=(folder / saved.object_file).read_bytes(),
        device=device(saved.chip),
    )
    return ImageCode((folder / saved.image_file).read_bytes(), code)

"""Modules that IREE has compiled for a GPU, with the emulator's code of their kernels."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from harness.artifact.artifact import ARTIFACT_FILE, Artifact
from harness.emulator.device_code import compile_for_emulator
from harness.emulator.devices import device
from harness.emulator.drivers.registry import LoadedImage, load_image
from harness.emulator.launching import LaunchSettings
from harness.emulator.saved_code import ImageCode, save
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.toolchains.iree import IreeTools
from harness.variants.baselines.iree import payload as iree_payload
from harness.variants.baselines.iree.emulated import EmulatedExecutable

ATTENTION = AttentionProblem(heads=1, seq_q=128, head_dim=64, dtype="f16")


@dataclass(frozen=True)
class GpuModule:
    """A module in a folder, as a build leaves it, and the LLVM IR that its kernels were made of."""

    artifact: Artifact
    folder: Path
    chip: str
    llvm_ir: dict[str, str]
    """By file name without its endings."""

    @functools.cached_property
    def images(self) -> list[LoadedImage]:
        """Its images with their code, loaded."""
        return [load_image(image) for image in self.image_codes()]

    def image_codes(self, edit: Callable[[str], str] = lambda text: text) -> list[ImageCode]:
        """Return each image with code of the emulator that is made of edited LLVM IR."""
        return [
            ImageCode(
                _image_file(self.folder / "dump", name).read_bytes(),
                compile_for_emulator(edit(text), device(self.chip)),
            )
            for name, text in self.llvm_ir.items()
        ]

    def loaded(
        self,
        images: list[LoadedImage] | None = None,
        settings: LaunchSettings = LaunchSettings(),  # noqa: B008 - frozen
    ) -> EmulatedExecutable:
        """Return the module, loaded to be launched with these images and settings."""
        return EmulatedExecutable(
            self.artifact, self.folder, self.images if images is None else images, settings
        )

    def saved(self, folder: Path, edit: Callable[[str], str] = lambda text: text) -> Path:
        """Write the artifact to another folder, from which a worker can load it."""
        folder.mkdir(parents=True)
        (folder / "module.vmfb").write_bytes((self.folder / "module.vmfb").read_bytes())
        save(folder / "emulator", self.image_codes(edit))
        (folder / ARTIFACT_FILE).write_text(self.artifact.model_dump_json())
        return folder


def compile_attention(
    problem: AttentionProblem, chip: str, folder: Path, *, unfused: bool = False
) -> GpuModule:
    """Compile IREE's attention op, or the three ops, for a chip."""
    form = iree_payload.unfused if unfused else iree_payload.attention_op
    names = iree_payload.unfused_operands if unfused else iree_payload.attention_op_operands
    module = compile_payload(form(problem), iree_payload.ENTRY, chip, folder, problem)
    launch = {**module.artifact.launch, "operands": names(problem)}
    return replace(module, artifact=module.artifact.model_copy(update={"launch": launch}))


def compile_payload(
    payload: str, function: str, chip: str, folder: Path, problem: AttentionProblem | None = None
) -> GpuModule:
    """Compile MLIR text for a chip."""
    is_nvidia = chip.startswith("sm_")
    dump = folder / "dump"
    (folder / "input.mlir").write_text(payload)
    IreeTools().run(
        "iree-compile",
        [
            folder / "input.mlir",
            f"--iree-hal-target-backends={'cuda' if is_nvidia else 'rocm'}",
            f"--iree-{'cuda' if is_nvidia else 'rocm'}-target={chip}",
            f"--iree-hal-dump-executable-files-to={dump}",
            "-o",
            folder / "module.vmfb",
        ],
    )
    ending = ".optimized.ll"
    artifact = Artifact(
        case=Case(
            problem=problem or AttentionProblem(heads=1, seq_q=16, head_dim=16),
            variant="iree",
            target=f"{'cuda' if is_nvidia else 'rocm'}:{chip}",
        ),
        key="test",
        executor="emulator",
        loader="harness.variants.baselines.iree.emulated:load",
        launch={
            "module": "module.vmfb",
            "function": function,
            "operands": [],
            "driver": "cuda" if is_nvidia else "hip",
            "chip": chip,
            "emulator": "emulator",
        },
    )
    texts = {file.name.removesuffix(ending): file.read_text() for file in sorted(dump.glob(f"*{ending}"))}
    return GpuModule(artifact, folder, chip, texts)


def _image_file(dump: Path, name: str) -> Path:
    (file,) = (dump / f"{name}.{kind}" for kind in ("ptx", "hsaco") if (dump / f"{name}.{kind}").exists())
    return file

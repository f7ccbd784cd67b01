"""Kernels that IREE has compiled for a GPU, with the emulator's code: with IREE's runtime and without."""

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from hand_written import Run

from harness.artifact.artifact import ARTIFACT_FILE, Artifact
from harness.emulator.device_code import ImageCode, compile_for_emulator, save
from harness.emulator.devices import device
from harness.emulator.drivers.registry import LoadedImage, load_image
from harness.emulator.launching import DeviceBuffer, LaunchSettings, launch
from harness.emulator.loading import LoadedKernel
from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.inputs import make_inputs
from harness.system.toolchains.iree import IreeTools
from harness.variants.baselines.iree import payload as iree_payload
from harness.variants.baselines.iree.emulated import EmulatedExecutable

CHIPS = ("sm_80", "gfx942", "gfx1100", "gfx1201")
ATTENTION = AttentionProblem(heads=1, seq_q=128, head_dim=64, dtype="f16")

_GRID = re.compile(
    r"range\(i32 0, (\d+)\) i32 @llvm\.(?:nvvm\.read\.ptx\.sreg\.ctaid|amdgcn\.workgroup\.id)\.x\(\)"
)
_SHARED_ARRAY = re.compile(r"addrspace\(3\) global \[(\d+) x \[(\d+) x half\]\]")

Edit = Callable[[str], str]


def unchanged(text: str) -> str:
    return text


@dataclass(frozen=True)
class GpuModule:
    """A module in a folder, as a build leaves it, and the LLVM IR that its kernels were made of."""

    artifact: Artifact
    folder: Path
    chip: str

    @functools.cached_property
    def llvm_ir(self) -> dict[str, str]:
        """The kernels as LLVM's back end gets them, by file name without its endings."""
        ending = ".optimized.ll"
        files = sorted((self.folder / "dump").glob(f"*{ending}"))
        return {file.name.removesuffix(ending): file.read_text("utf-8") for file in files}

    @functools.cached_property
    def images(self) -> list[LoadedImage]:
        """Its images with their code, loaded."""
        return [load_image(image) for image in self.image_codes()]

    def image_codes(self, edit: Edit = unchanged) -> list[ImageCode]:
        """Return each image with code of the emulator that is made of edited LLVM IR."""
        return [
            ImageCode(self._image(name), compile_for_emulator(edit(text), device(self.chip)))
            for name, text in self.llvm_ir.items()
        ]

    def loaded(
        self, images: list[LoadedImage] | None = None, settings: LaunchSettings | None = None
    ) -> EmulatedExecutable:
        """Return the module, loaded to be launched with these images and settings."""
        images = self.images if images is None else images
        return EmulatedExecutable(self.artifact, self.folder, images, settings or LaunchSettings())

    def saved(self, folder: Path, edit: Edit = unchanged) -> Path:
        """Write the artifact to another folder, from which a worker can load it."""
        folder.mkdir(parents=True)
        (folder / "module.vmfb").write_bytes((self.folder / "module.vmfb").read_bytes())
        save(folder / "emulator", self.image_codes(edit))
        (folder / ARTIFACT_FILE).write_text(self.artifact.model_dump_json())
        return folder

    def _image(self, name: str) -> bytes:
        files = (self.folder / "dump" / f"{name}.{kind}" for kind in ("ptx", "hsaco"))
        (file,) = (file for file in files if file.exists())
        return file.read_bytes()


@dataclass(frozen=True)
class IreeAttention:
    """IREE's attention kernel for one chip, launched without IREE's runtime."""

    module: GpuModule

    @functools.cached_property
    def text(self) -> str:
        """LLVM IR."""
        (text,) = self.module.llvm_ir.values()
        return text

    def compile(self, text: str | None = None) -> LoadedKernel:
        """Compile the kernel, or a changed copy of its text, and load it."""
        code = compile_for_emulator(self.text if text is None else text, device(self.module.chip))
        (kernel,) = code.load().values()
        return kernel

    def run(self, kernel: LoadedKernel, settings: LaunchSettings) -> Run:
        """Launch the kernel."""
        inputs = make_inputs(ATTENTION)
        arrays = {"query": inputs.q, "key": inputs.k, "value": inputs.v}
        read = [DeviceBuffer.of(array, name) for name, array in arrays.items()]
        written = DeviceBuffer(inputs.q.nbytes, "output")
        grid = (int(_GRID.search(self.text)[1]), 1, 1)
        block = kernel.description.block
        shared = self._dynamic_shared_bytes()
        try:
            report = launch(kernel, grid, block, [*read, written], shared_bytes=shared, settings=settings)
            output = written.view(np.dtype(np.float16), inputs.q.shape).copy()
        finally:
            for buffer in (*read, written):
                buffer.free()
        return Run(
            report,
            output,
            is_right=expect(inputs, ATTENTION).check(output).ok,
            clamps_as_expected=(report.clamped_loads, report.clamped_stores) == (0, 0),
        )

    def _dynamic_shared_bytes(self) -> int:
        """Return the size of all shared arrays, which IREE's last phase puts into one for NVIDIA."""
        if not self.module.chip.startswith("sm_"):
            return 0
        (linked,) = (self.module.folder / "dump").glob("*.linked.ll")
        arrays = _SHARED_ARRAY.findall(linked.read_text("utf-8"))
        return sum(2 * int(rows) * int(columns) for rows, columns in arrays)


def compile_attention(chip: str, folder: Path, *, unfused: bool = False) -> GpuModule:
    """Compile IREE's attention op, or the three ops, for a chip."""
    form = iree_payload.unfused if unfused else iree_payload.attention_op
    names = iree_payload.unfused_operands if unfused else iree_payload.attention_op_operands
    module = compile_payload(form(ATTENTION), iree_payload.ENTRY, chip, folder, ATTENTION)
    launch_ = {**module.artifact.launch, "operands": names(ATTENTION)}
    return replace(module, artifact=module.artifact.model_copy(update={"launch": launch_}))


def compile_payload(
    payload: str, function: str, chip: str, folder: Path, problem: AttentionProblem | None = None
) -> GpuModule:
    """Compile MLIR text for a chip."""
    backend, driver = ("cuda", "cuda") if chip.startswith("sm_") else ("rocm", "hip")
    (folder / "input.mlir").write_text(payload)
    IreeTools().run(
        "iree-compile",
        [
            folder / "input.mlir",
            f"--iree-hal-target-backends={backend}",
            f"--iree-{backend}-target={chip}",
            f"--iree-hal-dump-executable-files-to={folder / 'dump'}",
            "-o",
            folder / "module.vmfb",
        ],
    )
    problem = problem or AttentionProblem(heads=1, seq_q=16, head_dim=16)
    artifact = Artifact(
        case=Case(problem=problem, variant="iree", target=f"{backend}:{chip}"),
        key="test",
        executor="emulator",
        loader="harness.variants.baselines.iree.emulated:load",
        launch={
            "module": "module.vmfb",
            "function": function,
            "operands": [],
            "driver": driver,
            "chip": chip,
            "emulator": "emulator",
        },
    )
    return GpuModule(artifact, folder, chip)

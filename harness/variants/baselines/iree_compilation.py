"""One module on its way through IREE: phase by phase, with what each leaves behind.

Each phase is a run of iree-compile of its own.  The instructions that come out are those of a single run;
only positions in the source, for debuggers, are lost.
"""

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from harness.iree_toolchain import IreeTools
from harness.variants.baselines.iree_targets import IreeTarget

PHASES = {
    "dispatches": "executable-sources",
    "configured": "executable-configurations",
    "llvm": "executable-targets",
}
"""Stages that iree-compile can stop after and start from, in order, with its own name of each."""


@dataclass(frozen=True)
class StageName:
    """A stage, and what it shows."""

    name: str
    summary: str


STAGES = (
    StageName("payload", "what is computed, and for which device"),
    StageName("dispatches", "one function for each kernel"),
    StageName("configured", "IREE's choice of tiles, layouts, threads and passes"),
    StageName("tuned", "the same, as parameters set it"),
    StageName("llvm", "kernels in the LLVM dialect, after all of IREE's passes"),
    StageName("linked", "LLVM IR"),
    StageName("optimized", "LLVM IR as the device's back end gets it"),
    StageName("ptx", "assembly for NVIDIA GPUs"),
    StageName("rocmasm", "assembly for AMD GPUs"),
    StageName("assembly", "assembly for the CPU"),
    StageName("module", "what the runtime loads"),
    StageName("emulated", "device code as the emulator takes it, which its findings refer to"),
)
"""All stages of what IREE compiles; which there are depends on target and parameters."""

MODULE_FILE = "module.vmfb"
"""What IREE's runtime loads: host program and device code."""

DUMPED_STAGES = {"linked": ".linked.ll", "optimized": ".optimized.ll"}
"""Stages of the last phase, with the endings of the files that it dumps for them."""

INPUT_NAME = "attention.mlir"
"""IREE names what it links after its input."""


@dataclass(frozen=True)
class Image:
    """Device code that IREE's module holds, for one executable: one or several kernels."""

    code: bytes
    """As IREE's driver gets it."""
    llvm_ir: str
    """As LLVM's back end got it."""
    assembly: str


class Compilation:
    """Takes one module through IREE; every step ends in a stage, a file in the folder."""

    def __init__(self, folder: Path, target: IreeTarget, tools: IreeTools) -> None:
        self.target = target
        self.stage_seconds: dict[str, float] = {}
        self.stage_files: dict[str, str] = {}
        self._folder = folder
        self._tools = tools
        self._current = folder
        """File of the module as it is now."""
        self._phase: str | None = None
        """IREE's name of the phase that the module has gone through."""

    def start(self, payload: str) -> None:
        """Begin with a payload."""
        self._current = self.keep("payload", payload)

    def advance(self, stage: str) -> None:
        """Let IREE go on to the end of the phase that a stage is named after."""
        started = time.perf_counter()
        output = self._path(stage)
        self._compile(f"--compile-to={PHASES[stage]}", "-o", output)
        self._phase = PHASES[stage]
        self._go_on_with(output, stage, started)

    def transform(self, stage: str, script: str | None = None, kernel_passes: str = "") -> None:
        """Apply a transform script to the module, then passes to the module of each kernel.

        The script lies beside the stage's output.
        """
        started = time.perf_counter()
        output = self._path(stage)
        passes = [f"hal.executable(hal.executable.variant(builtin.module({kernel_passes})))"]
        with tempfile.TemporaryDirectory() as scratch:
            steps = passes if kernel_passes else []
            if script is not None:
                kept = output.with_suffix(f".script{output.suffix}")
                kept.write_text(script, encoding="utf-8")
                library = Path(scratch, "script.mlir")  # pass options cannot quote what a path may hold
                library.symlink_to(kept.resolve())
                preload = f"transform-preload-library{{transform-library-paths={library}}}"
                steps = [preload, "transform-interpreter", *steps]
            pipeline = f"--pass-pipeline=builtin.module({','.join([*steps, 'canonicalize', 'cse'])})"
            self._tools.run("iree-opt", [self._current, pipeline, "-o", output])
        self._go_on_with(output, stage, started)

    def go_back_to(self, stage: str) -> None:
        """Go on from an earlier stage of iree-compile, which then stands before what follows."""
        self.stage_files[stage] = self.stage_files.pop(stage)
        self._current = self._folder / self.stage_files[stage]
        self._phase = PHASES[stage]

    def finish(self) -> list[Image]:
        """Let IREE generate code; return the device code of each executable."""
        started = time.perf_counter()
        module = self._folder / MODULE_FILE
        with tempfile.TemporaryDirectory() as scratch:
            dumps = Path(scratch, "dumps")
            self._compile(f"--iree-hal-dump-executable-files-to={dumps}", "-o", module)
            images = self._collect(dumps)
        self._go_on_with(module, "module", started)
        return images

    def text(self, stage: str) -> str:
        """Return the text of a stage."""
        return (self._folder / self.stage_files[stage]).read_text(encoding="utf-8")

    def keep(self, stage: str, text: str, suffix: str = ".mlir") -> Path:
        """Write the output of a stage that comes after all others."""
        output = self._path(stage, suffix)
        output.write_text(text, encoding="utf-8")
        self.stage_files[stage] = output.name
        return output

    def _compile(self, *arguments: str | Path) -> None:
        """Run iree-compile on the module as it is, from where it stopped before."""
        start = () if self._phase is None else (f"--compile-from={self._phase}",)
        with tempfile.TemporaryDirectory() as scratch:
            named = Path(scratch, INPUT_NAME)
            named.symlink_to(self._current.resolve())
            self._tools.run("iree-compile", [named, *self.target.flags, *start, *arguments])

    def _path(self, stage: str, suffix: str = ".mlir") -> Path:
        return self._folder / f"{len(self.stage_files):02}-{stage}{suffix}"

    def _go_on_with(self, output: Path, stage: str, started: float) -> None:
        """Note a stage's output, which is the module from now on, and how long it took."""
        self._current = output
        self.stage_files[stage] = output.name
        self.stage_seconds[stage] = time.perf_counter() - started

    def _collect(self, dumps: Path) -> list[Image]:
        """Keep the dumped text as stages and return the images."""
        suffixes = {**DUMPED_STAGES, assembly_stage(self.target): self.target.assembly_suffix}
        for stage, suffix in suffixes.items():
            texts = [path.read_text(encoding="utf-8") for path in sorted(dumps.glob(f"*{suffix}"))]
            if texts:
                self.keep(stage, "\n".join(texts), Path(suffix).suffix)
        images = []
        for path in sorted(dumps.glob(f"*{self.target.image_suffix}")):
            stem = dumps / path.name.removesuffix(self.target.image_suffix)
            assembly = stem.with_name(stem.name + self.target.assembly_suffix)
            optimized = stem.with_name(stem.name + DUMPED_STAGES["optimized"])
            images.append(Image(path.read_bytes(), optimized.read_text(), assembly.read_text()))
        return images


def assembly_stage(target: IreeTarget) -> str:
    """Return the name of the stage that holds a target's assembly: `ptx`, `rocmasm`, or `assembly`."""
    return {".s": "assembly"}.get(target.assembly_suffix, target.assembly_suffix.removeprefix("."))

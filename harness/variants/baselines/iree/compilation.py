"""One module on its way through IREE: phase by phase, with what each leaves behind.

One run of iree-compile goes through all phases up to where the module is changed, or to the end; a run that
goes on from there gives the instructions of a single run, only positions in the source are lost.
"""

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from harness.artifact.stage_names import ASSEMBLY, OBJECT
from harness.problem.case import ParameterValue
from harness.system.toolchains.iree import IreeTools
from harness.targets.base import Stage
from harness.variants.baselines.iree.targets import IreeTarget

PHASES = {
    "dispatches": "executable-sources",
    "configured": "executable-configurations",
    "llvm": "executable-targets",
}
"""Stages that iree-compile can stop after and start from, in order, with its own name of each."""


STAGES = (
    Stage("payload", "what is computed, and for which device"),
    Stage("dispatches", "one function for each kernel"),
    Stage("configured", "IREE's choice of tiles, layouts, threads and passes"),
    Stage("tuned", "the same, as parameters set it"),
    Stage("llvm", "kernels in the LLVM dialect, after all of IREE's passes"),
    Stage("linked", "LLVM IR"),
    Stage("optimized", "LLVM IR as the device's back end gets it"),
    Stage(ASSEMBLY, "assembly: of a GPU from NVIDIA, PTX"),
    Stage(OBJECT, "what IREE's runtime loads: host program and device code"),
    Stage("emulated", "device code as the emulator takes it, which its findings refer to"),
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
        self.chosen: dict[str, ParameterValue] = {}
        """Values of parameters that a case leaves open, as lowering has chosen them."""
        self.folder = folder
        self._tools = tools
        self._current = folder
        """File of the module as it is now."""
        self._phase: str | None = None
        """Stage of the last of IREE's phases that the module has gone through."""
        self._finished = time.time()
        """When the last stage was finished: the clock of files, because IREE's phases end in files."""

    def start(self, payload: str) -> None:
        """Begin with a payload."""
        self._current = self.keep("payload", payload)

    def advance(self, stage: str) -> None:
        """Let IREE go on to the end of the phase that a stage is named after, and keep those on the way."""
        with tempfile.TemporaryDirectory() as scratch:
            output = Path(scratch, "output.mlir")
            self._compile(Path(scratch), stage, f"--compile-to={PHASES[stage]}", "-o", output)
            self._go_on_with(self.keep(stage, output.read_text(encoding="utf-8")), stage)

    def transform(self, stage: str, script: str | None = None, kernel_passes: str = "") -> None:
        """Apply a transform script to the module, then passes to the module of each kernel.

        The script lies beside the stage's output.
        """
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
        self.stage_files[stage] = output.name
        self._go_on_with(output, stage)

    def go_back_to(self, stage: str) -> None:
        """Go on from an earlier stage of iree-compile, which then stands before what follows."""
        self.stage_files[stage] = self.stage_files.pop(stage)
        self._current = self.folder / self.stage_files[stage]
        self._phase = stage

    def finish(self) -> list[Image]:
        """Let IREE go on to the end; return the device code of each executable."""
        module = self.folder / MODULE_FILE
        with tempfile.TemporaryDirectory() as scratch:
            dumps = Path(scratch, "dumps")
            flag = f"--iree-hal-dump-executable-files-to={dumps}"
            self._compile(Path(scratch), None, flag, "-o", module)
            images = self._collect(dumps)
        self.stage_files[OBJECT] = module.name
        self._go_on_with(module, OBJECT)
        return images

    def text(self, stage: str) -> str:
        """Return the text of a stage."""
        return (self.folder / self.stage_files[stage]).read_text(encoding="utf-8")

    def keep(self, stage: str, text: str, suffix: str = ".mlir") -> Path:
        """Write the output of a stage that comes after all others."""
        output = self._path(stage, suffix)
        output.write_text(text, encoding="utf-8")
        self.stage_files[stage] = output.name
        return output

    def _compile(self, scratch: Path, until: str | None, *arguments: str | Path) -> None:
        """Run iree-compile on the module as it is, from where it stopped, until a stage or the end.

        The stages that it passes are kept, also when it fails later.
        """
        done = 0 if self._phase is None else 1 + list(PHASES).index(self._phase)
        passed = list(PHASES)[done : None if until is None else list(PHASES).index(until)]
        passed = [stage for stage in passed if stage not in self.stage_files]
        start = () if self._phase is None else (f"--compile-from={PHASES[self._phase]}",)
        phases = scratch / "phases"
        named = scratch / INPUT_NAME
        named.symlink_to(self._current.resolve())
        flags = (*self.target.flags, *start, f"--dump-compilation-phases-to={phases}")
        try:
            self._tools.run("iree-compile", [named, *flags, *arguments])
        finally:
            for stage in passed:
                for dump in phases.glob(f"*.{PHASES[stage]}.mlir"):
                    self.keep(stage, dump.read_text(encoding="utf-8"))
                    self._note_time(stage, dump.stat().st_mtime)

    def _path(self, stage: str, suffix: str = ".mlir") -> Path:
        return self.folder / f"{len(self.stage_files):02}-{stage}{suffix}"

    def _go_on_with(self, output: Path, stage: str) -> None:
        """Note that a stage's output is the module from now on."""
        self._current = output
        self._phase = stage if stage in PHASES else self._phase
        self._note_time(stage, time.time())

    def _note_time(self, stage: str, finished: float) -> None:
        """Note when a stage was finished: it began when the one before it was."""
        self.stage_seconds[stage] = max(finished - self._finished, 0.0)
        self._finished = finished

    def _collect(self, dumps: Path) -> list[Image]:
        """Keep the dumped text as stages and return the images."""
        suffixes = {**DUMPED_STAGES, ASSEMBLY: self.target.assembly_suffix}
        for stage, suffix in suffixes.items():
            texts = [path.read_text(encoding="utf-8") for path in sorted(dumps.glob(f"*{suffix}"))]
            if texts:
                self.keep(stage, "\n".join(texts), f".{suffix.rpartition('.')[2]}")
        images = []
        for path in sorted(dumps.glob(f"*{self.target.image_suffix}")):
            stem = dumps / path.name.removesuffix(self.target.image_suffix)
            assembly = stem.with_name(stem.name + self.target.assembly_suffix)
            optimized = stem.with_name(stem.name + DUMPED_STAGES["optimized"])
            images.append(Image(path.read_bytes(), optimized.read_text(), assembly.read_text()))
        return images

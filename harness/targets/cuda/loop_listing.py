"""The main loop of an artifact for NVIDIA's GPUs, as it can be read."""

from pathlib import Path

from harness.artifact.artifact import Artifact
from harness.bounds.listing import ListedInstruction, LoopListing
from harness.bounds.loop_model import Unmodelled
from harness.plugins import chip_of
from harness.targets.cuda.images import CUBIN_FILE
from harness.targets.cuda.kernel_bounds import kernel_bounds
from harness.targets.cuda.modelled_chips import modelled_chip
from harness.targets.cuda.nvdisasm import class_of, disassembled
from harness.targets.gpu.launch import GpuLaunch
from harness.toolchains.nvidia import no_reader, program


def loop_listing(artifact: Artifact, folder: Path) -> LoopListing:
    """Return the loop of the kernel that multiplies matrices; raises `Unmodelled` where there is none."""
    for tool in ("ptxas", "nvdisasm"):
        if program(tool) is None:
            raise Unmodelled(f"--bounds: {no_reader(tool)}")
    file = folder / CUBIN_FILE
    if not file.exists():
        chip = chip_of(artifact.case.target)
        raise Unmodelled(f"no machine code of {artifact.case.variant} for {chip or 'this chip'} to model")
    disassembly = disassembled(file.read_bytes())
    if disassembly is None:
        raise Unmodelled(f"nvdisasm does not read {file.name}")
    launch = GpuLaunch.model_validate(artifact.launch)
    known = artifact.metrics.model
    registers = {} if known is None else {known.kernel: known.residency.registers}
    found = kernel_bounds(disassembly, launch.kernels, registers, launch.chip)
    lines = [
        ListedInstruction(instruction.text, class_of(instruction.name), costs)
        for instruction, costs in zip(found.loop, found.costs, strict=True)
    ]
    multiprocessor = modelled_chip(launch.chip).multiprocessor
    return LoopListing(launch.chip, tuple(lines), found.model, multiprocessor)

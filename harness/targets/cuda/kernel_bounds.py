"""What bounds a kernel for NVIDIA's GPUs: its machine code's main loop, in the model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.artifact.artifact import Artifact
from harness.codegen.bounds.instruction import Instruction
from harness.codegen.bounds.listing import ListedInstruction, LoopListing
from harness.codegen.bounds.loop_model import KernelLoop, LoopModel, Residency, Unmodelled, model_loop
from harness.plugins import chip_of
from harness.system.toolchains.nvidia import no_reader, program
from harness.targets.cuda import sass_loops
from harness.targets.cuda.device import CUBIN_FILE
from harness.targets.cuda.modelled_chips import ModelledChip, modelled_chip
from harness.targets.cuda.multiprocessor import resident_limits
from harness.targets.cuda.nvdisasm import class_of, disassembled
from harness.targets.cuda.sass import SassFunction, SassInstruction, parse
from harness.targets.cuda.sass_costs import costs
from harness.targets.gpu.launch import GpuKernel, GpuLaunch

TF32_PRODUCTS = 3
"""Products of tf32 that make one of f32, in kernels of this harness and in Triton's."""


@dataclass(frozen=True)
class KernelBounds:
    """A kernel's main loop, and what the model says of it."""

    model: LoopModel
    loop: tuple[SassInstruction, ...]
    costs: tuple[Instruction, ...]
    """Of each of these instructions."""


def kernel_bounds(
    disassembly: str, kernels: Sequence[GpuKernel], registers: Mapping[str, int], chip: str
) -> KernelBounds:
    """Model the kernel that multiplies matrices in a loop; `registers` are those of a thread, by kernel.

    Raises `Unmodelled` where there is no model of the chip or of an instruction, or not one such kernel.
    """
    assumed = modelled_chip(chip)
    functions = parse(disassembly)
    candidates = [
        (kernel, functions[kernel.name])
        for kernel in kernels
        if kernel.name in functions and _multiplies_in_a_loop(functions[kernel.name])
    ]
    if len(candidates) != 1:
        names = ", ".join(kernel.name for kernel, _ in candidates) or "none"
        raise Unmodelled(f"the model is of one kernel with matrix instructions in a loop; found {names}")
    kernel, function = candidates[0]
    return _modelled(kernel, function, registers.get(kernel.name), assumed, chip)


def _modelled(
    kernel: GpuKernel, function: SassFunction, registers: int | None, assumed: ModelledChip, chip: str
) -> KernelBounds:
    loop = sass_loops.steady_state(function)
    if registers is None:
        raise Unmodelled(f"it is not known how many registers {kernel.name} has")
    residency = Residency(
        registers=registers,
        shared_bytes=kernel.shared_bytes,
        limits=resident_limits(kernel.threads, registers, kernel.shared_bytes, chip),
    )
    asked = tuple(costs(instruction, assumed) for instruction in loop)
    columns = _columns(kernel)
    modelled = KernelLoop(
        kernel=kernel.name,
        trace=asked,
        classes=tuple(class_of(instruction.name) for instruction in loop),
        warps=-(-kernel.threads // assumed.multiprocessor.lanes),
        residency=residency,
        grid=kernel.grid,
        multiply_adds_per_score=multiply_adds_per_score(kernel),
        flops_per_score=None if columns is None else 2 * columns,
    )
    model = model_loop(modelled, assumed.multiprocessor)
    return KernelBounds(model, loop, asked)


def multiply_adds_per_score(kernel: GpuKernel) -> int | None:
    """Return how many multiply-adds of products each score costs: one for each column of Q and of V."""
    columns = _columns(kernel)
    is_f32 = any(buffer.name == "query" and buffer.dtype == "f32" for buffer in kernel.buffers)
    return None if columns is None else columns * (TF32_PRODUCTS if is_f32 else 1)


def _columns(kernel: GpuKernel) -> int | None:
    """Return the columns of Q and of V together, None of a kernel that has not both."""
    shapes = {buffer.name: buffer.shape for buffer in kernel.buffers}
    if not {"query", "value"} <= shapes.keys():
        return None
    return int(shapes["query"][-1] + shapes["value"][-1])


def _multiplies_in_a_loop(function: SassFunction) -> bool:
    return any(
        sass_loops.matrix_instructions(tuple(function.instructions[loop.header : loop.end + 1]))
        for loop in sass_loops.loops(function)
    )


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
    model = artifact.metrics.model
    registers = {} if model is None else {model.kernel: model.residency.registers}
    bounds = kernel_bounds(disassembly, launch.kernels, registers, launch.chip)
    lines = [
        ListedInstruction(instruction.text, class_of(instruction.name), costs)
        for instruction, costs in zip(bounds.loop, bounds.costs, strict=True)
    ]
    multiprocessor = modelled_chip(launch.chip).multiprocessor
    return LoopListing(launch.chip, tuple(lines), bounds.model, multiprocessor)

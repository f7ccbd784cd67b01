"""The pipeline of the CPU target: from tiled kernels on tensors to object code, stage by stage."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mlir import ir

from harness.targets.cpu.chip import Chip
from harness.targets.cpu.exponential import expand_exponentials
from harness.targets.cpu.grid import loop_over_grid_range
from harness.targets.cpu.lanes import queries_in_lanes
from harness.targets.cpu.launch import OBJECT_FILE, Kernel, describe_kernels
from harness.targets.cpu.native_vectors import split_vectors
from harness.targets.cpu.object_code import ObjectCode, emit_llvm_ir, emit_object
from harness.targets.cpu.promotion import promote_query_tiles
from harness.targets.cpu.register_tiles import tile_for_registers
from harness.targets.cpu.scratch import scratch_from_caller
from harness.targets.cpu.vector_lowering import lower_to_llvm, lower_vectors
from harness.targets.lowering.bufferize import bufferize
from harness.targets.lowering.stage_recorder import StageRecorder
from harness.targets.lowering.vectorize import hoist_from_innermost_loops, vectorize

SUMMARIES = {
    "promoted": "each tile of Q is copied once, where it is taken",
    "lanes": "layouts: queries become the last dimension, that of vector lanes",
    "exponential": "exp2 as a polynomial and integer arithmetic on the exponent",
    "register-tiled": "operations cut to what fits the registers",
    "vectorized": "register tiles as vector operations",
    "hoisted": "innermost loops carry accumulators as vectors",
    "bufferized": "tensors become memory",
    "threaded": "a loop over a range of the grid's points, scratch memory from the caller",
    "vector-lowered": "vectors of one dimension, contractions as fused multiply-adds",
    "native-vectors": "vectors of a register's length",
    "llvm": "the LLVM dialect",
    "llvm-ir": "LLVM IR",
    "object": "assembly, after LLVM's optimisations",
}
"""Each stage by name, in order."""
STAGES = tuple(SUMMARIES)


@dataclass(frozen=True)
class Compiled:
    """What the pipeline makes of a module of kernels."""

    kernels: tuple[Kernel, ...]
    code: ObjectCode
    stages: StageRecorder


def compile_kernels(module: ir.Module, chip: Chip, folder: Path) -> Compiled:
    """Run every stage on the module and write each one's output, and the object code, to the folder."""
    stages = StageRecorder(folder, STAGES)
    registers = chip.registers
    module.operation.verify()
    kernels: list[Kernel] = []
    in_place: list[tuple[str, Callable[[ir.Module], None]]] = [
        ("promoted", promote_query_tiles),
        ("lanes", queries_in_lanes),
        ("exponential", expand_exponentials),
        ("register-tiled", lambda module: tile_for_registers(module, registers)),
        ("vectorized", vectorize),
        ("hoisted", hoist_from_innermost_loops),
        ("bufferized", bufferize),
        ("threaded", lambda module: kernels.extend(_thread(module))),
        ("vector-lowered", lambda module: lower_vectors(module, registers.vector_length)),
        ("native-vectors", lambda module: split_vectors(module, registers.vector_length)),
        ("llvm", lower_to_llvm),
    ]
    for name, stage in in_place:
        stages.change(name, stage, module)
    llvm_ir = stages.run("llvm-ir", lambda: emit_llvm_ir(module), "ll")
    codes: list[ObjectCode] = []

    def emit() -> str:
        codes.append(emit_object(llvm_ir, chip))
        return codes[0].assembly

    stages.run("object", emit, "s")
    (folder / OBJECT_FILE).write_bytes(codes[0].object_file)
    return Compiled(tuple(kernels), codes[0], stages)


def _thread(module: ir.Module) -> tuple[Kernel, ...]:
    """Let each kernel compute a range of its grid with scratch memory of its caller."""
    points = loop_over_grid_range(module)
    scratch = scratch_from_caller(module)
    return describe_kernels(module, points, scratch)

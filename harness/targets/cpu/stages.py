"""The pipeline of the CPU target: from tiled kernels on tensors to object code, stage by stage."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from mlir import ir

from harness.errors import raised_in
from harness.targets.cpu.bufferize import bufferize, scratch_from_caller
from harness.targets.cpu.chip import Chip
from harness.targets.cpu.exponential import expand_exponentials
from harness.targets.cpu.grid import loop_over_grid_range
from harness.targets.cpu.lanes import queries_in_lanes
from harness.targets.cpu.launch import Kernel, describe_kernels
from harness.targets.cpu.native_vectors import split_vectors
from harness.targets.cpu.object_code import ObjectCode, emit_llvm_ir, emit_object
from harness.targets.cpu.promotion import promote_query_tiles
from harness.targets.cpu.register_tiles import tile_for_registers
from harness.targets.cpu.vector_lowering import lower_to_llvm, lower_vectors
from harness.targets.cpu.vectorize import hoist_from_innermost_loops, vectorize

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


@dataclass
class Compilation:
    """What a run of the pipeline leaves behind."""

    folder: Path
    kernels: tuple[Kernel, ...] = ()
    code: ObjectCode | None = None
    stage_seconds: dict[str, float] = field(default_factory=dict)
    stage_files: dict[str, str] = field(default_factory=dict)

    def record(self, stage: str, started: float, text: str, suffix: str = "mlir") -> None:
        """Note a stage's duration and keep its output."""
        self.stage_seconds[stage] = time.perf_counter() - started
        name = f"{STAGES.index(stage):02}-{stage}.{suffix}"
        (self.folder / name).write_text(text)
        self.stage_files[stage] = name


def compile_kernels(module: ir.Module, chip: Chip, folder: Path) -> Compilation:
    """Run every stage on the module and write each one's output, and the object code, to the folder."""
    result = Compilation(folder)
    registers = chip.registers
    module.operation.verify()
    in_place: list[tuple[str, Callable[[ir.Module], None]]] = [
        ("promoted", promote_query_tiles),
        ("lanes", queries_in_lanes),
        ("exponential", expand_exponentials),
        ("register-tiled", lambda module: tile_for_registers(module, registers)),
        ("vectorized", vectorize),
        ("hoisted", hoist_from_innermost_loops),
        ("bufferized", bufferize),
        ("threaded", lambda module: _thread(module, result)),
        ("vector-lowered", lambda module: lower_vectors(module, registers.vector_length)),
        ("native-vectors", lambda module: split_vectors(module, registers.vector_length)),
        ("llvm", lower_to_llvm),
    ]
    for name, stage in in_place:
        started = time.perf_counter()
        with raised_in(f'stage "{name}"'):
            stage(module)
        result.record(name, started, str(module))
    started = time.perf_counter()
    with raised_in('stage "llvm-ir"'):
        llvm_ir = emit_llvm_ir(module)
    result.record("llvm-ir", started, llvm_ir, "ll")
    started = time.perf_counter()
    with raised_in('stage "object"'):
        result.code = emit_object(llvm_ir, chip)
    (folder / "kernels.o").write_bytes(result.code.object_file)
    result.record("object", started, result.code.assembly, "s")
    return result


def _thread(module: ir.Module, result: Compilation) -> None:
    """Let each kernel compute a range of its grid with scratch memory of its caller."""
    points = loop_over_grid_range(module)
    scratch = scratch_from_caller(module)
    result.kernels = describe_kernels(module, points, scratch)

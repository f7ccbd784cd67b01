"""The pipeline of the CPU target: from tiled kernels on tensors to object code, stage by stage."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mlir import ir
from mlir.dialects import vector

from harness.artifact.stage_names import ASSEMBLY
from harness.codegen.ir import builder as b
from harness.codegen.ir.walk import functions_of, operations_within
from harness.codegen.rewrites.simplifications import decompose_all_pads
from harness.targets.base import OBJECT, Stage
from harness.targets.cpu.chip import Chip
from harness.targets.cpu.exponential import expand_exponentials
from harness.targets.cpu.grid import loop_over_grid_range, scratch_from_caller
from harness.targets.cpu.lanes import queries_in_lanes
from harness.targets.cpu.launch import OBJECT_FILE, Kernel
from harness.targets.cpu.matrix_operands import take_matrix_operands
from harness.targets.cpu.matrix_units import MatrixUnit
from harness.targets.cpu.native_vectors import split_vectors
from harness.targets.cpu.object_code import ObjectCode, emit_llvm_ir, emit_object
from harness.targets.cpu.packed_tiles import keep_packed_tiles, pack_tiles_of_far_rows
from harness.targets.cpu.prefetches import prefetch_far_rows
from harness.targets.cpu.promotion import promote_query_tiles
from harness.targets.cpu.register_tiles import tile_for_registers
from harness.targets.cpu.rescaling import skip_factors_of_one
from harness.targets.cpu.row_products import compute_rows_in_lanes
from harness.targets.cpu.tile_instructions import load_tiles
from harness.targets.cpu.vector_lowering import lower_to_llvm, lower_vectors
from harness.targets.lowering.bufferize import bufferize
from harness.targets.lowering.buffers import describe_buffers
from harness.targets.lowering.grid_order import number_longest_first
from harness.targets.lowering.merged_loops import merge_row_loops
from harness.targets.lowering.stage_recorder import StageRecorder
from harness.targets.lowering.transforms import run_passes
from harness.targets.lowering.vectorize import hoist_from_innermost_loops, vectorize

COPY = "memref.copy"


def copy_tiles_as_vectors(module: ir.Module) -> None:
    """Replace copies by a read and a write of the whole tile, in place."""
    copies = [operation for operation in operations_within(module.operation) if operation.name == COPY]
    for copy in copies:
        source, target = copy.operands
        with ir.InsertionPoint(copy), copy.location:
            element = source.type.element_type
            tile = ir.VectorType.get(source.type.shape, element)
            origin = [b.index(0)] * source.type.rank
            identity = ir.AffineMap.get_identity(source.type.rank)
            inside = [True] * source.type.rank
            padding = b.zero(str(element))
            read = vector.TransferReadOp(tile, source, origin, identity, padding, inside)
            vector.TransferWriteOp(None, read.result, target, origin, identity, in_bounds=inside)
        copy.operation.erase()
    if copies:
        run_passes(module, "canonicalize", "cse")


@dataclass
class CpuBuild:
    """A module of kernels, and what the stages so far have made of it."""

    module: ir.Module
    chip: Chip
    unit: MatrixUnit | None = None
    """What multiplies numbers of 16 bits; None: multiply-adds of f32."""
    longest_first: bool = False
    """Whether the points of a grid with the longest loops come first."""
    longest_keys: int | None = None
    """Keys of a sequence at most, where these lie one after the other."""
    kernels: tuple[Kernel, ...] = ()
    """How each kernel is called, from the stage `threaded` on."""
    refusals: Sequence[str] = ()
    """Why the unit does not compute some products."""
    llvm_ir: str = ""
    code: ObjectCode = field(init=False)

    @property
    def units(self) -> list[str]:
        """The units whose instructions are in the code, but for multiply-adds."""
        own = [] if self.unit is None else [self.unit]
        return [unit.name for unit in own if unit.instruction in self.code.assembly]


def compile_kernels(build: CpuBuild, folder: Path) -> StageRecorder:
    """Run every stage on the module and write each one's output, and the object code, to the folder."""
    stages = StageRecorder(folder, STAGES)
    build.module.operation.verify()
    stages.run_all(STAGES, build)
    (folder / OBJECT_FILE).write_bytes(build.code.object_file)
    stages.name_object(OBJECT_FILE)
    return stages


def _on_module(change: Callable[[ir.Module], None]) -> Callable[[CpuBuild], str]:
    return _for_chip(lambda module, chip: change(module))


def _for_chip(change: Callable[[ir.Module, Chip], None]) -> Callable[[CpuBuild], str]:
    def run(build: CpuBuild) -> str:
        change(build.module, build.chip)
        return str(build.module)

    return run


def _promote(module: ir.Module, chip: Chip) -> None:
    """Write padding into tiles of its own, and copy each tile of Q; of one query compute rows in lanes."""
    decompose_all_pads(module)
    pack_tiles_of_far_rows(module)
    promote_query_tiles(module)
    compute_rows_in_lanes(module, chip.registers.vector_length)


def _take_matrix_operands(build: CpuBuild) -> str | None:
    if build.unit is None:
        return None
    build.refusals = take_matrix_operands(build.module, build.unit, build.chip.registers)
    return str(build.module)


def _bufferize(module: ir.Module) -> None:
    bufferize(module)
    copy_tiles_as_vectors(module)


def _keep(build: CpuBuild) -> str:
    # Loops over operands of a matrix unit have other shapes, which prefetches are not made for.
    keep_packed_tiles(build.module, build.longest_keys, prefetches=build.unit is None)
    prefetch_far_rows(build.module)
    return str(build.module)


def _load_tiles(build: CpuBuild) -> str | None:
    if build.unit is None or not build.unit.has_tiles:
        return None
    load_tiles(build.module)
    return str(build.module)


def _thread(build: CpuBuild) -> str:
    if build.longest_first:
        number_longest_first(build.module)
    points = loop_over_grid_range(build.module)
    scratch = scratch_from_caller(build.module)
    build.kernels = tuple(
        Kernel(
            name=function.name.value,
            buffers=describe_buffers(function),
            points=points[function.name.value],
            scratch_bytes=scratch[function.name.value],
        )
        for function in functions_of(build.module)
    )
    return str(build.module)


def _to_llvm_ir(build: CpuBuild) -> str:
    build.llvm_ir = emit_llvm_ir(build.module)
    return build.llvm_ir


def _to_assembly(build: CpuBuild) -> str:
    build.code = emit_object(build.llvm_ir, build.chip)
    return build.code.assembly


STAGES = (
    Stage("promoted", "each tile of Q is copied once, where it is taken", _for_chip(_promote)),
    Stage(
        "lanes",
        "layouts: queries become the last dimension, that of vector lanes",
        _on_module(queries_in_lanes),
    ),
    Stage(
        "matrix-operands",
        "products of 16-bit numbers by a matrix instruction, on operands in pairs",
        _take_matrix_operands,
    ),
    Stage(
        "register-tiled",
        "operations cut to what fits the registers",
        _for_chip(lambda module, chip: tile_for_registers(module, chip.registers)),
    ),
    Stage("vectorized", "register tiles as vector operations", _on_module(vectorize)),
    Stage(
        "hoisted",
        "innermost loops carry accumulators as vectors",
        _on_module(hoist_from_innermost_loops),
    ),
    Stage(
        "merged",
        "loops over rows go along with those before them, whose rows they read",
        _on_module(merge_row_loops),
    ),
    Stage(
        "guarded",
        "what factors that are all 1 multiply is left as it is",
        _on_module(skip_factors_of_one),
    ),
    Stage("bufferized", "tensors become memory", _on_module(_bufferize)),
    Stage("kept", "copies of tiles whose rows lie apart are kept for further points of the grid", _keep),
    Stage("threaded", "a loop over a range of the grid's points, scratch memory from the caller", _thread),
    Stage("tiles", "tiles of a matrix unit are loaded from memory and stored there", _load_tiles),
    Stage(
        "vector-lowered",
        "vectors of one dimension, contractions as fused multiply-adds",
        _for_chip(lambda module, chip: lower_vectors(module, chip.registers.vector_length)),
    ),
    Stage(
        "native-vectors",
        "vectors of a register's length",
        _for_chip(lambda module, chip: split_vectors(module, chip.registers.vector_length)),
    ),
    Stage(
        "exponential",
        "exp2 as a polynomial, scaled by a power of two",
        _for_chip(lambda module, chip: expand_exponentials(module, chip.registers.vector_length)),
    ),
    Stage("llvm", "the LLVM dialect", _on_module(lower_to_llvm)),
    Stage("llvm-ir", "LLVM IR", _to_llvm_ir, "ll"),
    Stage(ASSEMBLY, "assembly, after LLVM's optimisations", _to_assembly, "s"),
    OBJECT,
)
"""The whole pipeline, in order."""

"""Every file `cpu/*.mlir`: the stage that its first line names, applied to its IR, meets its CHECK lines.

The first line is `// STAGE: name`, or `// STAGE: name vector-length` where the stage depends on it.
"""

from pathlib import Path

import pytest
from codegen.payloads.ir_files import check_file, files_in, first_line
from mlir import ir

from harness.targets.cpu.chip import RegisterTile
from harness.targets.cpu.exponential import expand_exponentials
from harness.targets.cpu.grid import loop_over_grid_range, scratch_from_caller
from harness.targets.cpu.lanes import queries_in_lanes
from harness.targets.cpu.matrix_operands import take_matrix_operands
from harness.targets.cpu.matrix_units import VDPBF16PS
from harness.targets.cpu.native_vectors import split_vectors
from harness.targets.cpu.packed_tiles import keep_packed_tiles, pack_tiles_of_far_rows
from harness.targets.cpu.prefetches import prefetch_far_rows
from harness.targets.cpu.register_tiles import tile_for_registers
from harness.targets.cpu.rescaling import skip_factors_of_one
from harness.targets.cpu.tile_instructions import load_tiles
from harness.targets.cpu.vector_lowering import lower_vectors
from harness.targets.lowering.bufferize import bufferize
from harness.targets.lowering.merged_loops import merge_row_loops
from harness.targets.lowering.vectorize import hoist_from_innermost_loops, vectorize

FILES = files_in(Path(__file__).parent / "cpu")


def thread(module: ir.Module) -> None:
    loop_over_grid_range(module)
    scratch_from_caller(module)


STAGES = {
    "packed": pack_tiles_of_far_rows,
    "lanes": queries_in_lanes,
    "matrix-operands": lambda module, length: take_matrix_operands(
        module, VDPBF16PS, RegisterTile.of_vector_length(length)
    ),
    "register-tiled": lambda module, length: tile_for_registers(
        module, RegisterTile.of_vector_length(length)
    ),
    "vectorized": vectorize,
    "hoisted": hoist_from_innermost_loops,
    "merged": merge_row_loops,
    "guarded": skip_factors_of_one,
    "bufferized": bufferize,
    "kept": keep_packed_tiles,
    "prefetched": prefetch_far_rows,
    "threaded": thread,
    "tiles": load_tiles,
    "vector-lowered": lower_vectors,
    "native-vectors": split_vectors,
    "exponential": expand_exponentials,
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_stage_meets_the_checks_of_the_file(path):
    stage, *arguments = first_line(path, "STAGE")
    check_file(path, lambda module: STAGES[stage](module, *map(int, arguments)))


def test_every_stage_on_the_way_to_vectors_has_a_file():
    assert {first_line(path, "STAGE")[0] for path in FILES} == set(STAGES)

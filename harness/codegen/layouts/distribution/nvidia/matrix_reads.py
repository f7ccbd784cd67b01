"""The rule for reads of matrix operands from shared memory by `ldmatrix`."""

import functools

from mlir import ir
from mlir.dialects import nvgpu, vector

from harness.codegen.layouts.bank_conflicts import conflicts
from harness.codegen.layouts.constraints import in_shared_memory
from harness.codegen.layouts.distribution.addresses import TileAddresses, tile_addresses
from harness.codegen.layouts.distribution.distributor import Distributor
from harness.codegen.layouts.distribution.nvidia.ldmatrix import SIDE, MatrixLoad, is_transposed, matrix_loads
from harness.codegen.layouts.distribution.transfers import BY_STEP, start_of
from harness.codegen.layouts.formulas import Formula, formula
from harness.codegen.layouts.layout import Layout, Level
from harness.codegen.layouts.register_pairs import PAIR
from harness.codegen.layouts.shared_memory_model import Banks


def is_matrix_read(distributor: Distributor, read: ir.OpView) -> bool:
    """Return whether a read from shared memory gives a layout that `ldmatrix` gives."""
    (result,) = read.results
    width = result.type.element_type.width
    return in_shared_memory(read.operands[0]) and is_transposed(distributor.layout(result), width) is not None


def distribute_matrix_read(distributor: Distributor, read: ir.OpView) -> None:
    """Load the fragments of an operand."""
    (result,) = read.results
    layout, element = distributor.layout(result), result.type.element_type
    buffer = distributor.scalar(read.operands[0])
    start = start_of(distributor, read, 1, buffer)
    loads = matrix_loads(layout, by_step=BY_STEP in read.attributes)
    _count_bank_conflicts(distributor, loads, buffer.type.shape[-1], element)
    pieces: list[ir.Value] = []
    addresses: dict[tuple[Formula, Formula], TileAddresses] = {}
    for load in loads:
        count = len(load.matrices)
        in_tile = (_of_lane(layout, 0, load.lane_rows), _of_lane(layout, 1, load.lane_columns))
        if in_tile not in addresses:
            addresses[in_tile] = tile_addresses(distributor.coordinates, buffer, start, in_tile)
        kind = ir.VectorType.get([count, PAIR], element)
        at = addresses[in_tile].of((load.row, load.column))
        is_column_major = bool(is_transposed(layout, element.width))
        loaded = nvgpu.ldmatrix(kind, addresses[in_tile].buffer, at, is_column_major, count)
        pieces.append(vector.shape_cast(ir.VectorType.get([count * PAIR], element), loaded))
    numbers = [fragment for load in loads for fragment, pair in load.matrices if pair == 0]
    fragments = dict(zip(numbers, regrouped(pieces, layout.registers), strict=True))
    distributor.define_fragments(result, [fragments[number] for number in range(layout.fragments)])


@functools.lru_cache(maxsize=256)
def conflicts_of_matrix_loads(
    loads: tuple[MatrixLoad, ...], pitch: int, element_bytes: int, banks: Banks
) -> int:
    """Return the extra passes of the `ldmatrix` that read a tile whose rows are `pitch` elements apart.

    Each reads the 8 rows of a matrix at a time.  Warps read other rows in the same pattern, so that one
    stands for all.
    """
    extra = 0
    for load in loads:
        lanes = [{Level.LANE: lane} for lane in range(SIDE * len(load.matrices))]
        addresses = [
            (
                (load.row + load.lane_rows.value(number)) * pitch
                + load.column
                + load.lane_columns.value(number)
            )
            * element_bytes
            for number in lanes
        ]
        extra += conflicts(addresses, SIDE * element_bytes, banks)
    return extra


def _count_bank_conflicts(
    distributor: Distributor, loads: tuple[MatrixLoad, ...], pitch: int, element: ir.Type
) -> None:
    memory = distributor.analysis.tiling.shared_memory
    if memory is not None:
        distributor.bank_conflicts += conflicts_of_matrix_loads(
            loads, pitch, element.width // 8, memory.reads
        )


def regrouped(pieces: list[ir.Value], size: int) -> list[ir.Value]:
    """Return vectors of another size with the elements of these, in order."""
    kind = ir.VectorType.get([size], pieces[0].type.element_type)
    count = pieces[0].type.shape[0]
    if count == size:
        return pieces
    if count % size == 0:
        return [
            vector.extract_strided_slice(kind, piece, [start], [size], [1])
            for piece in pieces
            for start in range(0, count, size)
        ]
    elements = [vector.extract(piece, [], [at]) for piece in pieces for at in range(count)]
    return [
        vector.from_elements(kind, elements[start : start + size]) for start in range(0, len(elements), size)
    ]


def _of_lane(layout: Layout, axis: int, rows_of_lanes: Formula) -> Formula:
    """Return where along an axis the row is that a lane names, from the first matrix on."""
    warp = formula(layout, axis).of_level(Level.WARP)
    return Formula((*warp.terms, *rows_of_lanes.terms))

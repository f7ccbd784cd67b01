"""The rule for reads of matrix operands from shared memory by `ldmatrix`."""

from mlir import ir
from mlir.dialects import nvgpu, vector

from harness.layouts.bank_conflicts import conflicts_of_matrix_loads
from harness.layouts.distribution.addresses import TileAddresses, tile_addresses
from harness.layouts.distribution.distributor import Distributor
from harness.layouts.distribution.ldmatrix import matrix_loads
from harness.layouts.formulas import Formula, formula
from harness.layouts.layout import Layout, Level
from harness.layouts.register_pairs import PAIR


def distribute_matrix_read(
    distributor: Distributor, operation: ir.OpView, indices: list[ir.Value], transposed: bool
) -> None:
    """Load the fragments of an operand."""
    (result,) = operation.results
    layout, element = distributor.layout(result), result.type.element_type
    buffer = distributor.scalar(operation.operands[0])
    pitch = buffer.type.shape[-1]
    distributor.bank_conflicts += conflicts_of_matrix_loads(layout, pitch, element.width // 8)
    pieces: list[ir.Value] = []
    known: dict[tuple[Formula, Formula], TileAddresses] = {}
    for load in matrix_loads(layout):
        count = len(load.matrices)
        places = (_of_lane(layout, 0, load.lane_rows), _of_lane(layout, 1, load.lane_columns))
        if places not in known:
            known[places] = tile_addresses(distributor.places, buffer, indices, places)
        kind = ir.VectorType.get([count, PAIR], element)
        at = known[places].of((load.row, load.column))
        loaded = nvgpu.ldmatrix(kind, known[places].buffer, at, transposed, count)
        pieces.append(vector.shape_cast(ir.VectorType.get([count * PAIR], element), loaded))
    distributor.define_fragments(result, regrouped(pieces, layout.registers))


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

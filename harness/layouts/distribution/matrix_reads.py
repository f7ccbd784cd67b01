"""The rule for reads of matrix operands from shared memory by `ldmatrix`."""

from mlir import ir
from mlir.dialects import arith, nvgpu, vector

from harness.layouts.bank_conflicts import conflicts_of_matrix_loads
from harness.layouts.distribution.distributor import Distributor
from harness.layouts.distribution.matrix_loads import PAIR, matrix_loads
from harness.layouts.distribution.places import index
from harness.layouts.formulas import Formula, formula
from harness.layouts.layout import Layout, Level


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
    for load in matrix_loads(layout):
        count = len(load.matrices)
        row = _address(distributor, indices[-2], layout, 0, load.row, load.lane_rows)
        column = _address(distributor, indices[-1], layout, 1, load.column, load.lane_columns)
        kind = ir.VectorType.get([count, PAIR], element)
        loaded = nvgpu.ldmatrix(kind, buffer, [*indices[:-2], row, column], transposed, count)
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


def _address(
    distributor: Distributor, start: ir.Value, layout: Layout, axis: int, corner: int, lanes: Formula
) -> ir.Value:
    """Return an index of the row that a lane names: start of the tile, warp, matrix and row."""
    warp = formula(layout, axis).of_level(Level.WARP)
    moved = arith.addi(start, distributor.places.uniform(Formula((*warp.terms, *lanes.terms))))
    return moved if corner == 0 else arith.addi(moved, index(corner))

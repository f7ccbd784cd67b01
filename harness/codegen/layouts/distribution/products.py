"""The rule for contractions: one matrix instruction for each fragment of the result and of the depth."""

from mlir import ir

from harness.codegen.layouts.distribution.distributor import Distributor
from harness.codegen.layouts.distribution.transfers import BY_STEP
from harness.codegen.layouts.layout import Layout, Level


def distribute_contraction(distributor: Distributor, operation: ir.OpView) -> None:
    """C + A·Bᵀ, accumulated fragment by fragment along the depth, or step by step for all fragments."""
    instruction = distributor.analysis.tiling.instruction
    left, right, start = (distributor.held(operation.operands[number]) for number in range(3))
    (result,) = operation.results
    layout = distributor.layout(result)
    rows, columns = ([instruction.prepare(fragment) for fragment in side.fragments] for side in (left, right))
    fragments = list(start.fragments)
    positions = {number: _position(layout, number) for number in range(layout.fragments)}
    order = list(positions)
    steps = range(_depth(left.layout))
    parts = [steps]
    if BY_STEP in operation.attributes:
        order.sort(key=lambda number: positions[number][::-1])  # a fragment of B serves all rows at once
        parts = [range(step, step + 1) for step in steps]
    for part in parts:
        for number in order:
            row, column = positions[number]
            pairs = [
                (rows[_fragment(left.layout, row, step)], columns[_fragment(right.layout, column, step)])
                for step in part
            ]
            fragments[number] = instruction.emit(pairs, fragments[number])
    distributor.define_fragments(result, fragments)


def _position(layout: Layout, fragment: int) -> tuple[int, int]:
    named = {dimension.name: number for dimension, number in layout.digits(Level.BATCH, fragment).items()}
    return named["row"], named["column"]


def _depth(layout: Layout) -> int:
    (depth,) = (dim.size for dim in layout.dimensions(Level.BATCH) if dim.name == "column")
    return depth


def _fragment(layout: Layout, row: int, column: int) -> int:
    indices = {dim: row if dim.name == "row" else column for dim in layout.dimensions(Level.BATCH)}
    return layout.number(Level.BATCH, indices)

"""The `promoted` stage: tiles of queries move from memory to a tile of their own, and results back.

The layout of arguments is given, queries first; a contraction wants queries in vector lanes.  So a tile of Q
that a contraction reads is copied once, and a result that is stored in another type goes through a tile in
f32: the copies are where the `lanes` stage transposes.
"""

from mlir import ir
from mlir.dialects import func

from harness.mlir_walk import operations_within
from harness.payloads import builder as b
from harness.targets.cpu.lanes import LaneLayout, conversions


def promote_query_tiles(module: ir.Module) -> None:
    """Insert the copies, in place."""
    for function in module.body.operations:
        if isinstance(function, func.FuncOp):
            layout = LaneLayout(function)
            for operation in list(operations_within(function)):
                _promote_operands(operation, layout)
                _promote_result(operation, layout)


def _promote_operands(operation: ir.OpView, layout: LaneLayout) -> None:
    """Copy what a contraction, or an insertion into a padded tile, reads from memory with queries."""
    if operation.name == "tensor.insert_slice":
        is_reader = operation.operands[1] not in layout.in_memory
        operands = [operation.operands[0]]
    else:
        is_reader = _is_contraction(operation)
        operands = list(operation.operands)[:2]
    for position, value in enumerate(operands if is_reader else []):
        if value in layout.in_memory and layout.lane_axis(value) is not None:
            with ir.InsertionPoint(operation), operation.location:
                operation.operands[position] = _copied(value)


def _promote_result(operation: ir.OpView, layout: LaneLayout) -> None:
    """Give a conversion of a result its source in memory order."""
    for source, result in conversions(operation):
        if result in layout.in_memory and source not in layout.in_memory:
            with ir.InsertionPoint(operation), operation.location:
                operation.operands[0] = _copied(source)


def _copied(value: ir.Value) -> ir.Value:
    axes = "xyzuvw"[: value.type.rank]
    empty = b.empty(value.type.shape, b.dtype_of(value))
    return b.structured(f"{axes}->{axes}", [value], empty, lambda element: element)


def _is_contraction(operation: ir.OpView) -> bool:
    if operation.name != "linalg.generic" or len(operation.operands) != 3:
        return False
    return "reduction" in str(operation.attributes["iterator_types"])

"""The `promoted` stage: tiles of queries move from memory to a tile of their own, and results back.

A tile of Q that a contraction reads is copied once, and a result that is stored in another type goes through
a tile in f32: the copies are where the `lanes` stage transposes.
"""

from mlir import ir
from mlir.dialects import func

from harness.codegen.ir import builder as b
from harness.codegen.ir.walk import functions_of, operations_within
from harness.targets.cpu.lanes import LaneLayout, conversions, has_one_query


def promote_query_tiles(module: ir.Module) -> None:
    """Insert the copies, in place, each where its source is made: outside loops that only read it."""
    for function in functions_of(module):
        if not has_one_query(function):
            _Promotion(function).apply()


class _Promotion:
    """The copies of one kernel."""

    def __init__(self, function: func.FuncOp) -> None:
        self.operations = list(operations_within(function))
        self.layout = LaneLayout(function)
        self.copies: dict[ir.Value, ir.Value] = {}

    def apply(self) -> None:
        for operation in self.operations:
            for position in self._operands_to_copy(operation):
                operation.operands[position] = self._copy(operation.operands[position])
            for source, result in conversions(operation):
                if result in self.layout.in_memory and source not in self.layout.in_memory:
                    operation.operands[0] = self._copy(source)

    def _operands_to_copy(self, operation: ir.OpView) -> list[int]:
        """Return which tiles of queries a contraction, or an insertion into a tile, reads from memory."""
        if operation.name == "tensor.insert_slice":
            positions = [0] if operation.operands[1] not in self.layout.in_memory else []
        else:
            positions = [0, 1] if _is_contraction(operation) else []
        return [
            position for position in positions if self._has_queries_in_memory(operation.operands[position])
        ]

    def _has_queries_in_memory(self, value: ir.Value) -> bool:
        return value in self.layout.in_memory and self.layout.lane_axis(value) is not None

    def _copy(self, value: ir.Value) -> ir.Value:
        if value not in self.copies:
            with after(value), ir.Location.unknown():
                self.copies[value] = _copied(value)
        return self.copies[value]


def after(value: ir.Value) -> ir.InsertionPoint:
    """Return the point from which on a value is there."""
    if isinstance(value, ir.BlockArgument):
        return ir.InsertionPoint.at_block_begin(value.owner)
    return ir.InsertionPoint.after(ir.OpResult(value).owner)


def _copied(value: ir.Value) -> ir.Value:
    axes = "xyzuvw"[: value.type.rank]
    empty = b.empty(value.type.shape, b.dtype_of(value))
    return b.structured(f"{axes}->{axes}", [value], empty, lambda element: element)


def _is_contraction(operation: ir.OpView) -> bool:
    if operation.name != "linalg.generic" or len(operation.operands) != 3:
        return False
    return "reduction" in str(operation.attributes["iterator_types"])

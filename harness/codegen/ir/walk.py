"""Walking over the operations of a piece of IR."""

from collections.abc import Iterator

from mlir import ir
from mlir.dialects import func


def functions_of(module: ir.Module) -> list[func.FuncOp]:
    """Return the functions of a module, in order: its kernels, in the order in which they are called."""
    return [operation for operation in module.body.operations if isinstance(operation, func.FuncOp)]


def operations_within(operation: ir.OpView | ir.Operation) -> Iterator[ir.OpView]:
    """Yield all nested operations, outermost first."""
    for region in operation.regions:
        for block in region.blocks:
            for nested in list(block.operations):
                yield nested
                if len(nested.operation.regions):
                    yield from operations_within(nested)


def terminator_of(block: ir.Block) -> ir.OpView:
    """Return a block's last operation."""
    return block.operations[len(block.operations) - 1]


def producer_of(value: ir.Value) -> ir.OpView | None:
    """Return the operation that a value is a result of; None for an argument of a block."""
    return ir.OpResult(value).owner.opview if isinstance(value, ir.OpResult) else None


def enclosing_function(operation: ir.OpView | ir.Operation) -> ir.OpView:
    """Return the function that an operation stands in; the outermost operation if there is none."""
    outer = operation.operation
    while outer.name != "func.func" and outer.parent is not None:
        outer = outer.parent.operation
    return outer.opview

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


def enclosing_function(operation: ir.OpView | ir.Operation) -> ir.OpView:
    """Return the function that an operation stands in; the outermost operation if there is none."""
    outer = operation.operation
    while outer.name != "func.func" and outer.parent is not None:
        outer = outer.parent.operation
    return outer.opview

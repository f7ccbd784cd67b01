"""Walking over the operations of a piece of IR."""

from collections.abc import Iterator

from mlir import ir


def operations_within(operation: ir.OpView | ir.Operation) -> Iterator[ir.OpView]:
    """Yield all nested operations, outermost first."""
    for region in operation.regions:
        for block in region.blocks:
            for nested in list(block.operations):
                yield nested
                yield from operations_within(nested)

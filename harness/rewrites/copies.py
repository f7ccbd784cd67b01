"""Copies of operations that use other values."""

from mlir import ir

from harness.ir.walk import operations_within

Copies = dict[ir.Value, ir.Value]
"""From values to what copied operations use instead."""


def copy_with(operation: ir.OpView, copies: Copies) -> None:
    """Copy an operation, with everything in its regions, to the current insertion point.

    Its results are added to the copies.
    """
    copy = operation.operation.clone()
    for each in (copy, *operations_within(copy)):
        for position, operand in enumerate(each.operands):
            if operand in copies:
                each.operands[position] = copies[operand]
    copies.update(zip(operation.results, copy.results, strict=True))

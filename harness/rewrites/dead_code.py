"""Removing operations whose results nothing uses."""

from collections.abc import Sequence

from mlir import ir


def erase_dead(operations: Sequence[ir.OpView]) -> None:
    """Erase those of the operations whose results nothing uses, last first."""
    for operation in reversed(operations):
        if operation.results and not any(list(result.uses) for result in operation.results):
            operation.operation.erase()

"""A current MLIR context, for code that builds or transforms IR."""

from collections.abc import Iterator
from contextlib import contextmanager

from mlir import ir


@contextmanager
def mlir_context() -> Iterator[ir.Context]:
    """Make a fresh context and an unknown location current."""
    with ir.Context() as context, ir.Location.unknown():
        yield context

"""A current MLIR context, for code that builds or transforms IR."""

from collections.abc import Iterator
from contextlib import contextmanager

from mlir import ir

from harness.codegen.dialect import definition


@contextmanager
def mlir_context() -> Iterator[ir.Context]:
    """Make a fresh context, which knows the `attn` dialect, and an unknown location current."""
    with ir.Context() as context, ir.Location.unknown():
        definition.load(context)
        yield context


@contextmanager
def current(context: ir.Context) -> Iterator[None]:
    """Make a context that `mlir_context` has made, and an unknown location, current again."""
    with context, ir.Location.unknown():
        yield

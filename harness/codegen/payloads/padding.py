"""Padding of operands to the sizes that a target computes, and what undoes it."""

from collections.abc import Sequence

from mlir import ir

from harness.codegen.ir import builder as b
from harness.codegen.payloads import attention_steps as steps
from harness.codegen.payloads.arguments import UNDOES_PADDING


def padded(value: ir.Value, shape: Sequence[int]) -> ir.Value:
    """Return a tensor with zeros appended along each dimension, up to a shape."""
    own = list(value.type.shape)
    if own == list(shape):
        return value
    high = [size - exists for size, exists in zip(shape, own, strict=True)]
    return b.pad(value, [0] * len(own), high, shape, b.zero(b.dtype_of(value)))


def padded_rows(value: ir.Value, rows: int) -> ir.Value:
    """Return a tensor `[.., queries, width]` with rows of 0 appended."""
    *outer, queries, width = value.type.shape
    return padded(value, [*outer, queries + rows, width])


def unpadded(value: ir.Value, dtype: str, shape: Sequence[int]) -> ir.Value:
    """Return the first rows and columns of a padded result in the dtype that is stored; tiling computes the
    others, too.

    What is padded is padded and cut off in the type that is stored: a target that can leave elements out of a
    load or a store then has nothing else to do for the padding.
    """
    if list(value.type.shape) == list(shape):
        return value
    result = b.slice_of(steps.narrowed(value, dtype), [0] * len(shape), list(shape))
    ir.OpResult(result).owner.attributes[UNDOES_PADDING] = ir.UnitAttr.get()
    return result

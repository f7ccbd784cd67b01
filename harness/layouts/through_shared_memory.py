"""Exchange of a value between lanes and warps: written to shared memory as held, read as it is wanted."""

from mlir import ir
from mlir.dialects import arith, gpu, vector

from harness.errors import BuildError
from harness.layouts.workgroup_memory import workgroup_buffer

LEAST_BITS = 8
"""Of an element that has an address."""


def exchanged(value: ir.Value, use: ir.OpView, pitch: int | None = None) -> ir.Value:
    """Return a value after a trip through shared memory, before an operation that uses it.

    A first barrier lets everybody who still reads an earlier value from there arrive, a second one everybody
    who writes.  Rows lie `pitch` elements apart there, without gaps if not given.  Raises `BuildError` for
    elements that memory does not hold one by one.
    """
    kind = ir.VectorType(value.type)
    if kind.element_type.width < LEAST_BITS:
        raise BuildError(f"elements of {kind.element_type} cannot be exchanged through shared memory")
    *outer, columns = kind.shape
    buffer = workgroup_buffer([*outer, columns if pitch is None else pitch], kind.element_type, use)
    with ir.InsertionPoint(use), use.location:
        start = [arith.constant(ir.IndexType.get(), 0)] * kind.rank
        identity = ir.AffineMap.get_identity(kind.rank)
        in_bounds = ir.ArrayAttr.get([ir.BoolAttr.get(True)] * kind.rank)
        gpu.barrier()
        vector.TransferWriteOp(None, value, buffer, start, identity, in_bounds=in_bounds)
        gpu.barrier()
        nothing = arith.constant(kind.element_type, ir.FloatAttr.get(kind.element_type, 0.0))
        read = vector.TransferReadOp(kind, buffer, start, identity, nothing, in_bounds)
    result: ir.Value = read.result
    return result

"""Buffers in the memory that the lanes of a workgroup share, and the exchange of values through it."""

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import arith, gpu, memref, vector

from harness.codegen.layouts.constraints import WORKGROUP_SPACE
from harness.system.errors import BuildError

BODIES = ("scf.forall", "func.func")
"""What has a block that a workgroup executes from its beginning to its end."""

LEAST_BITS = 8
"""Of an element that has an address."""


def workgroup_buffer(shape: Sequence[int], element: ir.Type, user: ir.OpView) -> ir.Value:
    """Allocate shared memory where a workgroup begins, in the grid's body or in the function's.

    `user` is an operation that uses it.  Where it lies is decided when all buffers of a kernel are known
    (`harness.targets.gpu.shared_memory`).
    """
    block = user.operation.block
    while not is_body_of_workgroup(block):
        block = block.owner.operation.block
    kind = ir.MemRefType.get(shape, element, memory_space=ir.Attribute.parse(WORKGROUP_SPACE))
    with ir.InsertionPoint.at_block_begin(block), user.location:
        buffer: ir.Value = memref.alloc(kind, [], [])
    return buffer


def is_body_of_workgroup(block: ir.Block) -> bool:
    """Return whether a workgroup executes a block once, whatever the data."""
    return block.owner.operation.name in BODIES


def exchanged(value: ir.Value, use: ir.OpView, pitch: int | None = None) -> ir.Value:
    """Return a value after a trip through shared memory, written as held and read as its use wants it.

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

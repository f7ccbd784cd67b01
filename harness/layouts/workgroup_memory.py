"""Buffers in the memory that the lanes of a workgroup share."""

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import memref

from harness.layouts.constraints import WORKGROUP_SPACE

BODIES = ("scf.forall", "func.func")
"""What has a block that a workgroup executes from its beginning to its end."""


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

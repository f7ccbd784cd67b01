"""Tensors of many tiles that a workgroup keeps from one loop to the next, in the memory that its lanes share.

All lanes arrive at the end of an iteration that writes: others read its tiles afterwards.
"""

from mlir import ir
from mlir.dialects import gpu

from harness.codegen.ir.walk import operations_within, terminator_of
from harness.codegen.layouts.workgroup_memory import workgroup_buffer
from harness.codegen.payloads.arguments import KEEPS_TILES
from harness.system.errors import TileSizeError
from harness.targets.gpu.vendor import Staging

ALLOCATION = "memref.alloc"
WRITE = "vector.transfer_write"


def keep_in_shared_memory(function: ir.OpView, staging: Staging | None) -> None:
    """Let a kernel's own buffers lie in shared memory, in place.

    Raises `TileSizeError` for a kernel that was not meant to keep anything.
    """
    buffers = [operation for operation in operations_within(function) if operation.name == ALLOCATION]
    if not buffers:
        return
    if staging is None or KEEPS_TILES not in function.attributes:
        raise TileSizeError(f"kernel {function.name.value} holds rows that are longer than a tile")
    for buffer in buffers:
        _keep(buffer, staging)


def _keep(allocation: ir.OpView, staging: Staging) -> None:
    """Replace a buffer by one in shared memory whose rows are followed by padding."""
    kind = allocation.results[0].type
    *rows, columns = kind.shape
    pitch = columns + staging.padding_bytes * 8 // kind.element_type.width
    kept = workgroup_buffer([*rows, pitch], kind.element_type, allocation)
    loops: dict[ir.Operation, None] = {}
    for use in list(allocation.results[0].uses):
        user = use.owner.opview
        user.operation.operands[use.operand_number] = kept
        if user.name == WRITE:
            loops[user.operation.parent] = None
    for loop in loops:
        end = terminator_of(loop.regions[0].blocks[0])
        with ir.InsertionPoint(end), end.location:
            gpu.barrier()
    allocation.operation.erase()

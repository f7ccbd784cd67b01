"""Copies of tiles that are left when tensors have become memory, as vectors.

The code has no library to call for them.
"""

from mlir import ir
from mlir.dialects import vector

from harness.codegen.ir import builder as b
from harness.codegen.ir.walk import operations_within
from harness.targets.lowering.transforms import run_passes

COPY = "memref.copy"


def copy_tiles_as_vectors(module: ir.Module) -> None:
    """Replace copies by a read and a write of the whole tile, in place."""
    copies = [operation for operation in operations_within(module.operation) if operation.name == COPY]
    for copy in copies:
        source, target = copy.operands
        with ir.InsertionPoint(copy), copy.location:
            element = source.type.element_type
            tile = ir.VectorType.get(source.type.shape, element)
            origin = [b.index(0)] * source.type.rank
            identity = ir.AffineMap.get_identity(source.type.rank)
            inside = [True] * source.type.rank
            padding = b.zero(str(element))
            read = vector.TransferReadOp(tile, source, origin, identity, padding, inside)
            vector.TransferWriteOp(None, read.result, target, origin, identity, in_bounds=inside)
        copy.operation.erase()
    if copies:
        run_passes(module, "canonicalize", "cse")

"""Arrays of a lane through which messages give and take: declared once, where a kernel begins.

XeVM's lowering allocates an array where a message stands, of a size that is a value.  In SPIR-V that is an
array of variable length, of which a loop makes a new one each time.
"""

from mlir import ir
from mlir.dialects import llvm

from harness.errors import BuildError
from harness.ir.walk import operations_within, producer_of


def declare_arrays_first(module: ir.Module) -> None:
    """Let every `llvm.alloca` stand first in its function, with the size in its type, in place."""
    for kernel in module.body.operations[0].regions[0].blocks[0].operations:
        if kernel.operation.name == "llvm.func" and len(kernel.regions[0].blocks):
            for operation in list(operations_within(kernel)):
                if operation.operation.name == "llvm.alloca":
                    _declare_first(operation, kernel.regions[0].blocks[0])


def _declare_first(allocation: ir.OpView, entry: ir.Block) -> None:
    element = ir.TypeAttr(allocation.attributes["elem_type"]).value
    array = ir.Type.parse(f"!llvm.array<{_count(allocation)} x {element}>")
    alignment = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), ALIGNMENT)
    with ir.InsertionPoint.at_block_begin(entry), allocation.location:
        one = llvm.mlir_constant(ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 1))
        declared = llvm.AllocaOp(allocation.results[0].type, one, array, alignment=alignment)
    allocation.results[0].replace_all_uses_with(declared.res)
    allocation.operation.erase()


def _count(allocation: ir.OpView) -> int:
    size = producer_of(allocation.operands[0])
    if size is None or size.operation.name != "llvm.mlir.constant":
        raise BuildError("an array of a lane has a size that is no constant")
    return ir.IntegerAttr(size.attributes["value"]).value


ALIGNMENT = 64
"""Bytes: more than any vector that is loaded from such an array needs."""

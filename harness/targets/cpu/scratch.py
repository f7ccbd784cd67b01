"""Memory that a kernel of the CPU target needs besides its arguments comes from its caller."""

import math

from mlir import ir
from mlir.dialects import arith, func, memref

from harness.codegen.ir.walk import functions_of, operations_within

ALIGNMENT = 64
"""Bytes: a cache line, and the widest vector register."""


def scratch_from_caller(module: ir.Module) -> dict[str, int]:
    """Replace every allocation in a kernel by a piece of one scratch argument, in place.

    Threads then bring their own scratch memory: no allocator runs while a kernel is timed, and how much a
    kernel needs is known.  Returns the bytes for each kernel.
    """
    return {ir.StringAttr(function.name).value: _scratch_of(function) for function in functions_of(module)}


def _scratch_of(function: func.FuncOp) -> int:
    allocations = [op for op in operations_within(function) if op.name == "memref.alloc"]
    offsets, size = [], 0
    for allocation in allocations:
        offsets.append(size)
        size += _padded_bytes(allocation.results[0].type)
    scratch_type = ir.MemRefType.get([max(size, ALIGNMENT)], ir.IntegerType.get_signless(8))
    (scratch,) = append_arguments(function, scratch_type)
    for allocation, offset in zip(allocations, offsets, strict=True):
        with ir.InsertionPoint(allocation), allocation.location:
            start = arith.constant(ir.IndexType.get(), offset)
            view = memref.ViewOp(allocation.results[0].type, scratch, start, [])
        allocation.results[0].replace_all_uses_with(view.result)
        allocation.operation.erase()
    return max(size, ALIGNMENT)


def append_arguments(function: func.FuncOp, *kinds: ir.Type) -> list[ir.Value]:
    """Let a kernel take further arguments, in place; return them."""
    added = [function.entry_block.add_argument(kind, ir.Location.unknown()) for kind in kinds]
    signature = ir.FunctionType.get([*function.type.inputs, *kinds], function.type.results)
    function.attributes["function_type"] = ir.TypeAttr.get(signature)
    function.arg_attrs = [*function.arg_attrs, *[ir.DictAttr.get({})] * len(kinds)]
    return added


def _padded_bytes(buffer_type: ir.MemRefType) -> int:
    size = math.prod(buffer_type.shape) * buffer_type.element_type.width // 8
    return -(-size // ALIGNMENT) * ALIGNMENT

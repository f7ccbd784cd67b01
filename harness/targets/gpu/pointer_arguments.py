"""Kernels that take a pointer for each buffer, for conversions of MLIR that know only descriptors."""

import itertools
import operator

from mlir import ir
from mlir.dialects import builtin, llvm

POINTER = "!llvm.ptr<1>"
"""To global memory."""


def take_pointers(kernel: ir.OpView) -> None:
    """Let a `gpu.func` take a pointer for each buffer, as it is launched with, in place."""
    block = kernel.regions[0].blocks[0]
    pointer = ir.Type.parse(POINTER)
    for argument in list(block.arguments):
        kind = argument.type
        with ir.InsertionPoint.at_block_begin(block), kernel.location:
            nothing = llvm.mlir_undef(_descriptor_type(kind))
            buffer = builtin.UnrealizedConversionCastOp([kind], [nothing])
        argument.replace_all_uses_with(buffer.results[0])
        argument.set_type(pointer)
        with ir.InsertionPoint(buffer), kernel.location:
            buffer.operation.operands[0] = _descriptor(argument, nothing, kind)
    taken = ir.FunctionType.get([pointer] * len(block.arguments), [])
    kernel.attributes["function_type"] = ir.TypeAttr.get(taken)


def _descriptor_type(kind: ir.MemRefType) -> ir.Type:
    numbers = f"array<{kind.rank} x i64>"
    return ir.Type.parse(f"!llvm.struct<(ptr<1>, ptr<1>, i64, {numbers}, {numbers})>")


def _descriptor(pointer: ir.Value, descriptor: ir.Value, kind: ir.MemRefType) -> ir.Value:
    """Return what stands for a buffer without gaps in the LLVM dialect."""
    strides = list(itertools.accumulate(reversed(kind.shape[1:]), operator.mul, initial=1))[::-1]
    descriptor = llvm.insertvalue(descriptor, pointer, ir.DenseI64ArrayAttr.get([0]))
    descriptor = llvm.insertvalue(descriptor, pointer, ir.DenseI64ArrayAttr.get([1]))
    fields: list[tuple[tuple[int, ...], int]] = [((2,), 0)]
    fields += [((3, axis), size) for axis, size in enumerate(kind.shape)]
    fields += [((4, axis), stride) for axis, stride in enumerate(strides)]
    word = ir.IntegerType.get_signless(64)
    for position, number in fields:
        value = llvm.mlir_constant(ir.IntegerAttr.get(word, number))
        descriptor = llvm.insertvalue(descriptor, value, ir.DenseI64ArrayAttr.get(position))
    return descriptor

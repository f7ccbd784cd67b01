"""Small helpers that build operations of the LLVM dialect at the current insertion point."""

from collections.abc import Sequence
from typing import overload

from mlir import ir
from mlir.dialects import llvm

EXTERNAL = "#llvm.linkage<external>"


def pointer_type() -> ir.Type:
    """Return the type of all pointers."""
    return ir.Type.parse("!llvm.ptr")


def integer_type(bits: int) -> ir.Type:
    """Return an integer type."""
    return ir.IntegerType.get_signless(bits)


def constant(value: int, bits: int = 32) -> ir.Value:
    """Return an integer constant."""
    return llvm.mlir_constant(ir.IntegerAttr.get(integer_type(bits), value))


def address_of(symbol: str) -> ir.Value:
    """Return the address of a global or a function."""
    return llvm.mlir_addressof(pointer_type(), symbol)


def offset(base: ir.Value, bytes_: int) -> ir.Value:
    """Return an address some bytes behind another."""
    no_flags = ir.IntegerAttr.get(integer_type(32), 0)
    return llvm.getelementptr(pointer_type(), base, [], [bytes_], integer_type(8), no_flags)


def load(kind: ir.Type, address: ir.Value) -> ir.Value:
    """Load a value from an address of any alignment."""
    return llvm.load(kind, address, alignment=1)


def store(value: ir.Value, address: ir.Value) -> None:
    """Store a value at an address of any alignment."""
    llvm.store(value, address, alignment=1)


@overload
def call(function: str, arguments: Sequence[ir.Value], result: ir.Type) -> ir.Value: ...


@overload
def call(function: str, arguments: Sequence[ir.Value], result: None = None) -> None: ...


def call(function: str, arguments: Sequence[ir.Value], result: ir.Type | None = None) -> ir.Value | None:
    """Call a function by name; returns its result if it has one."""
    called = llvm.call(result, list(arguments), [], [], callee=function)
    return None if result is None else called


def as_type(value: ir.Value, kind: ir.Type) -> ir.Value:
    """Return a value's bits as another type of the same size."""
    return value if value.type == kind else llvm.bitcast(kind, value)


def vector(values: Sequence[ir.Value], element: ir.Type) -> ir.Value:
    """Return a vector of values."""
    result = llvm.mlir_undef(ir.VectorType.get([len(values)], element))
    for position, value in enumerate(values):
        result = llvm.insertelement(result, value, constant(position))
    return result


def structure(values: Sequence[ir.Value], kind: ir.Type) -> ir.Value:
    """Return a structure of values."""
    result = llvm.mlir_undef(kind)
    for position, value in enumerate(values):
        result = llvm.insertvalue(result, value, [position])
    return result


def function(name: str, arguments: Sequence[ir.Type], result: ir.Type | None = None) -> llvm.LLVMFuncOp:
    """Declare a function that others call, or that the runtime or a model defines."""
    listed = ", ".join(map(str, arguments))
    kind = ir.Type.parse(f"!llvm.func<{'void' if result is None else result} ({listed})>")
    return llvm.func(name, ir.TypeAttr.get(kind), linkage=ir.Attribute.parse(EXTERNAL))

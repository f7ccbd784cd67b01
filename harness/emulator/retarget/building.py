"""Types on the CPU, with one address space, and operations of the LLVM dialect at the insertion point."""

import math
import re
from collections.abc import Sequence
from typing import overload

from mlir import ir
from mlir.dialects import llvm

from harness.system.errors import BuildError

_SPACE = re.compile(r"\bptr<\d+>")

FLOATS = (ir.F16Type, ir.BF16Type, ir.F32Type, ir.F64Type)
POINTER, POINTER_BYTES = "!llvm.ptr", 8


def flat(kind: ir.Type) -> ir.Type:
    """Return a type with all its pointers in the one address space that the CPU has."""
    text = str(kind)
    return ir.Type.parse(_SPACE.sub("ptr", text)) if _SPACE.search(text) else kind


def address_space(kind: ir.Type) -> int:
    """Return a pointer's address space, 0 for what is no pointer."""
    match = re.fullmatch(r"!llvm\.ptr<(\d+)>", str(kind))
    return int(match[1]) if match else 0


def bytes_of(kind: ir.Type) -> int:
    """Return what a load or store of the type touches; raises `BuildError` for types that none has."""
    if isinstance(kind, (ir.IntegerType, *FLOATS)):
        return math.ceil(kind.width / 8)
    if isinstance(kind, ir.VectorType):
        element = kind.element_type
        bits = element.width if isinstance(element, ir.IntegerType) else 8 * bytes_of(element)
        return math.ceil(math.prod(kind.shape) * bits / 8)
    text = _SPACE.sub("ptr", str(kind))
    return POINTER_BYTES if text == POINTER else _aggregate_bytes(text)


def _aggregate_bytes(text: str) -> int:
    array = re.fullmatch(r"!llvm\.array<(\d+) x (.*)>", text)
    if array:
        is_llvm_type = array[2].startswith(("array<", "struct<", "ptr"))
        element = f"!llvm.{array[2]}" if is_llvm_type else array[2]
        return int(array[1]) * bytes_of(ir.Type.parse(element))
    raise BuildError(f"the size of {text} is not known to the emulator")


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

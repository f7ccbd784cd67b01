"""Types on the CPU: one address space, and sizes in bytes as x86-64 lays them out."""

import math
import re

from mlir import ir

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

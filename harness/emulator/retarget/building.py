"""Small helpers that build operations of the LLVM dialect at the current insertion point."""

from collections.abc import Sequence
from typing import overload

from mlir import ir

POINTER = "!llvm.ptr"


def pointer_type() -> ir.Type:
    """Return the type of all pointers."""
    return ir.Type.parse(POINTER)


def integer_type(bits: int) -> ir.Type:
    """Return an integer type."""
    return ir.IntegerType.get_signless(bits)


def constant(value: int, bits: int = 32) -> ir.Value:
    """Return an integer constant."""
    kind = integer_type(bits)
    attributes = {"value": ir.IntegerAttr.get(kind, value)}
    return _created("llvm.mlir.constant", [kind], [], attributes)


def address_of(symbol: str) -> ir.Value:
    """Return the address of a global or a function."""
    attributes = {"global_name": ir.FlatSymbolRefAttr.get(symbol)}
    return _created("llvm.mlir.addressof", [pointer_type()], [], attributes)


def offset(base: ir.Value, bytes_: int) -> ir.Value:
    """Return an address some bytes behind another."""
    attributes = {
        "elem_type": ir.TypeAttr.get(integer_type(8)),
        "rawConstantIndices": ir.DenseI32ArrayAttr.get([bytes_]),
    }
    return _created("llvm.getelementptr", [pointer_type()], [base], attributes)


def load(kind: ir.Type, address: ir.Value, alignment: int) -> ir.Value:
    """Load a value."""
    attributes = {"alignment": ir.IntegerAttr.get(integer_type(64), alignment)}
    return _created("llvm.load", [kind], [address], attributes)


def store(value: ir.Value, address: ir.Value, alignment: int) -> None:
    """Store a value."""
    attributes = {"alignment": ir.IntegerAttr.get(integer_type(64), alignment)}
    ir.Operation.create("llvm.store", operands=[value, address], attributes=attributes)


def reserve(bytes_: int, alignment: int) -> ir.Value:
    """Reserve bytes on the lane's stack."""
    attributes = {
        "elem_type": ir.TypeAttr.get(integer_type(8)),
        "alignment": ir.IntegerAttr.get(integer_type(64), alignment),
    }
    return _created("llvm.alloca", [pointer_type()], [constant(bytes_, 64)], attributes)


@overload
def call(function: str, arguments: Sequence[ir.Value], result: ir.Type) -> ir.Value: ...


@overload
def call(function: str, arguments: Sequence[ir.Value], result: None = None) -> None: ...


def call(function: str, arguments: Sequence[ir.Value], result: ir.Type | None = None) -> ir.Value | None:
    """Call a function by name; returns its result if it has one."""
    attributes = {
        "callee": ir.FlatSymbolRefAttr.get(function),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(arguments), 0]),
        "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
    }
    results = [] if result is None else [result]
    operation = ir.Operation.create(
        "llvm.call", results=results, operands=list(arguments), attributes=attributes
    )
    return operation.results[0] if results else None


def convert(operation: str, value: ir.Value, kind: ir.Type) -> ir.Value:
    """Convert a value: `bitcast`, `zext`, `trunc`."""
    return _created(f"llvm.{operation}", [kind], [value], {})


def as_type(value: ir.Value, kind: ir.Type) -> ir.Value:
    """Return a value's bits as another type of the same size."""
    return value if value.type == kind else convert("bitcast", value, kind)


def inverted(bit: ir.Value) -> ir.Value:
    """Return the opposite of a bit."""
    return _created("llvm.xor", [bit.type], [bit, constant(1, 1)], {})


def vector(values: Sequence[ir.Value], element: ir.Type) -> ir.Value:
    """Return a vector of values."""
    kind = ir.VectorType.get([len(values)], element)
    result = _created("llvm.mlir.undef", [kind], [], {})
    for position, value in enumerate(values):
        operands = [result, value, constant(position)]
        result = _created("llvm.insertelement", [kind], operands, {})
    return result


def extract_element(value: ir.Value, position: int) -> ir.Value:
    """Return an element of a vector."""
    element = ir.VectorType(value.type).element_type
    return _created("llvm.extractelement", [element], [value, constant(position)], {})


def structure_type(elements: Sequence[ir.Type]) -> ir.Type:
    """Return the type of a structure."""
    return ir.Type.parse(f"!llvm.struct<({', '.join(map(str, elements))})>")


def structure(values: Sequence[ir.Value], kind: ir.Type) -> ir.Value:
    """Return a structure of values."""
    result = _created("llvm.mlir.undef", [kind], [], {})
    for position, value in enumerate(values):
        attributes = {"position": ir.DenseI64ArrayAttr.get([position])}
        result = _created("llvm.insertvalue", [kind], [result, value], attributes)
    return result


def extract_value(value: ir.Value, position: int, kind: ir.Type) -> ir.Value:
    """Return an element of a structure."""
    attributes = {"position": ir.DenseI64ArrayAttr.get([position])}
    return _created("llvm.extractvalue", [kind], [value], attributes)


def masked_load(address: ir.Value, guard: ir.Value, instead: ir.Value) -> ir.Value:
    """Load a vector if a bit is set; without it the result is another vector."""
    mask = _all_elements(guard, instead.type)
    attributes = {"alignment": ir.IntegerAttr.get(integer_type(32), 1)}
    return _created("llvm.intr.masked.load", [instead.type], [address, mask, instead], attributes)


def masked_store(value: ir.Value, address: ir.Value, guard: ir.Value) -> None:
    """Store a vector if a bit is set."""
    mask = _all_elements(guard, value.type)
    attributes = {"alignment": ir.IntegerAttr.get(integer_type(32), 1)}
    ir.Operation.create("llvm.intr.masked.store", operands=[value, address, mask], attributes=attributes)


def _all_elements(guard: ir.Value, kind: ir.Type) -> ir.Value:
    return vector([guard] * ir.VectorType(kind).shape[0], guard.type)


def declare(name: str, arguments: Sequence[ir.Type], result: ir.Type | None = None) -> None:
    """Declare a function that the runtime or a model defines."""
    kind = function_type(arguments, result)
    attributes = {
        "sym_name": ir.StringAttr.get(name),
        "function_type": ir.TypeAttr.get(kind),
        "linkage": ir.Attribute.parse("#llvm.linkage<external>"),
    }
    ir.Operation.create("llvm.func", attributes=attributes, regions=1)


def function_type(arguments: Sequence[ir.Type], result: ir.Type | None) -> ir.Type:
    """Return the type of a function."""
    listed = ", ".join(map(str, arguments))
    return ir.Type.parse(f"!llvm.func<{'void' if result is None else result} ({listed})>")


def _created(
    name: str, results: Sequence[ir.Type], operands: Sequence[ir.Value], attributes: dict[str, ir.Attribute]
) -> ir.Value:
    operation = ir.Operation.create(
        name, results=list(results), operands=list(operands), attributes=attributes
    )
    return operation.results[0]

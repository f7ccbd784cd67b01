"""Small helpers that build operations of the LLVM dialect at the current insertion point."""

from collections.abc import Sequence

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


def call(function: str, arguments: Sequence[ir.Value], result: ir.Type | None = None) -> ir.Value | None:
    """Call a function by name."""
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

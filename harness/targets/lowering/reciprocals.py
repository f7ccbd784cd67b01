"""Division of whole tiles by one number a row: one division for each row, then products.

A product with a reciprocal differs from the quotient by a rounding or two.
"""

from mlir import ir
from mlir.dialects import arith

from harness.targets.lowering.transforms import replace_operations

REPEATING = ("vector.broadcast", "vector.transpose")
"""Operations that repeat or rearrange the elements of a vector."""


def divide_rows_once(module: ir.Module) -> None:
    """Replace divisions by a vector whose elements repeat those of a smaller one, in place."""
    replace_operations(module, {"arith.divf": _product})


def _product(division: ir.OpView) -> ir.Value | None:
    dividend, divisor = division.operands
    repeats = _repeating_operations(divisor)
    return arith.mulf(dividend, _repeated_reciprocal(repeats)) if repeats else None


def _repeating_operations(value: ir.Value) -> list[ir.OpView]:
    """Return the operations that a vector is made by from a smaller one, the first one first."""
    operations: list[ir.OpView] = []
    while isinstance(value.owner, ir.Operation | ir.OpView) and value.owner.name in REPEATING:
        operations.insert(0, value.owner.opview)
        value = value.owner.operands[0]
    is_larger = any(repeat.name == "vector.broadcast" for repeat in operations)
    return operations if is_larger else []


def _repeated_reciprocal(repeats: list[ir.OpView]) -> ir.Value:
    """Return the reciprocals of what is repeated, computed before they are repeated."""
    first = repeats[0]
    source = first.operands[0]
    with ir.InsertionPoint(first), first.location:
        value = arith.divf(_ones(source.type), source)
        for repeat in repeats:
            clone = repeat.operation.clone()
            clone.operands[0] = value
            value = clone.results[0]
    return value


def _ones(kind: ir.Type) -> ir.Value:
    element = ir.FloatAttr.get(kind.element_type if isinstance(kind, ir.VectorType) else kind, 1.0)
    splat = ir.DenseElementsAttr.get_splat(kind, element) if isinstance(kind, ir.VectorType) else element
    return arith.constant(kind, splat)

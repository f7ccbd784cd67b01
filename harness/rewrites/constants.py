"""Numbers behind values."""

from mlir import ir


def constant_index(value: ir.Value) -> int | None:
    """Return the integer that an `arith.constant` holds, or None."""
    if isinstance(value, ir.OpResult) and value.owner.name == "arith.constant":
        return ir.IntegerAttr(value.owner.attributes["value"]).value
    return None


def constant_float(value: ir.Value) -> float | None:
    """Return the floating-point number that an `arith.constant` holds, or None."""
    if isinstance(value, ir.OpResult) and value.owner.name == "arith.constant":
        return ir.FloatAttr(value.owner.attributes["value"]).value
    return None


def constant_of_fill(value: ir.Value) -> float | None:
    """Return the number that a `linalg.fill` fills a tensor with, or None."""
    if not isinstance(value, ir.OpResult) or value.owner.name != "linalg.fill":
        return None
    scalar = value.owner.operands[0]
    return constant_float(scalar) if isinstance(scalar.type, ir.F16Type | ir.BF16Type | ir.F32Type | ir.F64Type) else None

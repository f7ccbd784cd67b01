"""Numbers behind values."""

from mlir import ir


def constant_index(value: ir.Value) -> int | None:
    """Return the integer that an `arith.constant` holds, or None."""
    if not isinstance(value, ir.OpResult) or value.owner.name != "arith.constant":
        return None
    attribute = value.owner.attributes["value"]
    return attribute.value if isinstance(attribute, ir.IntegerAttr) else None


def constant_float(value: ir.Value) -> float | None:
    """Return the floating-point number that an `arith.constant` holds, or None."""
    if not isinstance(value, ir.OpResult) or value.owner.name != "arith.constant":
        return None
    attribute = value.owner.attributes["value"]
    return attribute.value if isinstance(attribute, ir.FloatAttr) else None


def is_all_zero(value: ir.Value) -> bool:
    """Return whether an `arith.constant` gives a vector whose elements all are 0."""
    if not isinstance(value, ir.OpResult) or value.owner.name != "arith.constant":
        return False
    numbers = ir.DenseElementsAttr(value.owner.attributes["value"])
    return numbers.is_splat and ir.FloatAttr(numbers.get_splat_value()).value == 0.0


def constant_of_fill(value: ir.Value) -> float | None:
    """Return the number that a `linalg.fill` fills a tensor with, or None."""
    if not isinstance(value, ir.OpResult) or value.owner.name != "linalg.fill":
        return None
    return constant_float(value.owner.operands[0])

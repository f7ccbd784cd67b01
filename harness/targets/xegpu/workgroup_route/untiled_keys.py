"""What the stage `inner-tiled` replaces: the attention of a workgroup's queries over all keys, as vectors."""

from dataclasses import dataclass

from mlir import ir

from harness.errors import UnsupportedError
from harness.ir.walk import operations_within, producer_of

CONTRACT, READ, WRITE = "vector.contract", "vector.transfer_read", "vector.transfer_write"
REDUCTION = "vector.multi_reduction"


@dataclass(frozen=True)
class UntiledKeys:
    """The reads of Q, K and V, the write of the output, and what scores are multiplied with."""

    query: ir.OpView
    key: ir.OpView
    value: ir.OpView
    output: ir.OpView
    scale: float

    @classmethod
    def of(cls, function: ir.OpView) -> "UntiledKeys":
        """Find them in a kernel; raises `UnsupportedError` where it computes something else."""
        products = [found for found in operations_within(function) if found.name == CONTRACT]
        writes = [found for found in operations_within(function) if found.name == WRITE]
        if len(products) != 2 or len(writes) != 1:
            raise UnsupportedError("expected a kernel of two products, and one write of what it computes")
        scores, result = products
        scale, scaled = _scale(scores)
        if not any(_is_maximum(user) for user in _users(scaled)):
            raise UnsupportedError("expected the softmax of scores that are scaled and nothing else")
        return cls(_read(scores, 0), _read(scores, 1), _read(result, 1), writes[0], scale)


def _read(product: ir.OpView, operand: int) -> ir.OpView:
    found = producer_of(product.operands[operand])
    if found is None or found.name != READ:
        raise UnsupportedError("expected products of what is read from memory as it is")
    return found


def _scale(scores: ir.OpView) -> tuple[float, ir.Value]:
    """Return what scores are multiplied with before the softmax, and the product."""
    users = _users(scores.results[0])
    if len(users) == 1 and users[0].name == "arith.mulf":
        factor = producer_of(users[0].operands[1])
        if factor is not None and factor.name == "arith.constant":
            splat = ir.DenseFPElementsAttr(factor.attributes["value"]).get_splat_value()
            return ir.FloatAttr(splat).value, users[0].results[0]
    return 1.0, scores.results[0]


def _is_maximum(operation: ir.OpView) -> bool:
    return operation.name == REDUCTION and "maximumf" in str(operation.attributes["kind"])


def _users(value: ir.Value) -> list[ir.OpView]:
    return [use.owner.opview for use in value.uses]

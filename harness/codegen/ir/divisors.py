"""What is seen to divide an index, from how it is computed."""

import math
from collections.abc import Sequence

from mlir import ir

from harness.codegen.ir.constants import constant_index
from harness.codegen.ir.for_loop import ForLoop

AFFINE = ("affine.apply", "affine.max", "affine.min")
ONE_OF_BOTH = ("arith.maxsi", "arith.maxui", "arith.minsi", "arith.minui")
"""Operations that give one of their operands."""


def known_divisor(value: ir.Value) -> int:
    """Return the largest number that is seen to divide an index, 0 if it is 0, which everything divides."""
    constant = constant_index(value)
    if constant is not None:
        return abs(constant)
    if isinstance(value, ir.BlockArgument):
        return _of_block_argument(value)
    operation = value.owner.operation
    divisors = [known_divisor(operand) for operand in _index_operands(operation)]
    if operation.name in AFFINE:
        mapping = ir.AffineMapAttr(operation.attributes["map"]).value
        return math.gcd(*(of_expression(result, divisors, mapping.n_dims) for result in mapping.results))
    if operation.name in ("arith.addi", "arith.subi", "arith.select", *ONE_OF_BOTH):
        return math.gcd(*divisors)
    if operation.name == "arith.muli":
        return math.prod(divisors)
    return 1


def _of_block_argument(value: ir.BlockArgument) -> int:
    loop = value.owner.owner.operation
    if loop.name != "scf.for" or value.arg_number != 0:
        return 1
    start, _, step = ForLoop(loop).bounds
    return math.gcd(known_divisor(start), known_divisor(step))


def _index_operands(operation: ir.Operation) -> list[ir.Value]:
    """Return the operands that results are computed from, without the condition of a selection."""
    return [operand for operand in operation.operands if isinstance(operand.type, ir.IndexType)]


def of_expression(expression: ir.AffineExpr, divisors: Sequence[int], dimensions: int) -> int:
    """Return what divides an expression of dimensions, then symbols, that these numbers divide."""
    if isinstance(expression, ir.AffineConstantExpr):
        return abs(int(expression.value))
    if isinstance(expression, ir.AffineDimExpr):
        return divisors[expression.position]
    if isinstance(expression, ir.AffineSymbolExpr):
        return divisors[dimensions + expression.position]
    left, right = (of_expression(side, divisors, dimensions) for side in (expression.lhs, expression.rhs))
    if isinstance(expression, ir.AffineMulExpr):
        return left * right
    if isinstance(expression, ir.AffineAddExpr | ir.AffineModExpr):
        return math.gcd(left, right)  # a remainder differs from what is divided by multiples of the divisor
    is_exact = isinstance(expression.rhs, ir.AffineConstantExpr) and left % right == 0
    return left // right if is_exact else 1

"""Operations that treat every element alike, on scalars, vectors and tensors."""

import math
from enum import Enum, auto

from mlir import ir

from harness.codegen.costs.costs import NotCountable
from harness.codegen.costs.expressions import Constant, Expression, product
from harness.codegen.costs.memory import is_memory
from harness.codegen.costs.trees import Amounts, CostTree, Fixed, repeated, sequence
from harness.codegen.costs.walk import Handler, Walk


class Kind(Enum):
    """Key of an amount of operations; see `harness.codegen.costs.costs.Costs` for what each holds."""

    MATMUL = auto()
    EXP = auto()
    OTHER = auto()
    FMA = auto()
    """What of OTHER is fused multiply-adds: counted in both."""


def elements_of(kind: ir.Type) -> int:
    """Return the number of elements of a vector, 1 for a scalar."""
    if not isinstance(kind, ir.VectorType):
        return 1
    if kind.scalable:
        raise NotCountable(f"{kind}: the length of scalable vectors is known only when they run")
    return math.prod(kind.shape)


def elementwise(amounts: Amounts) -> Handler:
    """Return the handler of an operation that executes the same for each element of its result."""

    def handle(walk: Walk, operation: ir.OpView) -> CostTree:
        if is_memory(operation.results[0].type):
            return on_tensors(walk, operation, amounts)
        count = elements_of(operation.results[0].type)
        return repeated(Constant(count), Fixed(amounts))

    return handle


def on_tensors(walk: Walk, operation: ir.OpView, amounts: Amounts) -> CostTree:
    """Count an operation on whole tensors, which reads its operands and writes new memory."""
    operands = [walk.memory(value) for value in operation.operands if is_memory(value.type)]
    shape: tuple[Expression, ...] = operands[0].shape
    result = walk.fresh(operation.results[0], shape)
    moved = [operand.reads() for operand in operands]
    return sequence([repeated(product(shape), Fixed(amounts)), *moved, result.writes()])

"""Floating-point arithmetic of `arith` and `math`, on scalars, vectors and tensors."""

from mlir import ir

from harness.codegen.costs.costs import NotCountable
from harness.codegen.costs.expressions import Constant
from harness.codegen.costs.memory import Buffer, Level, Memory, is_memory
from harness.codegen.costs.operations.elementwise import Kind, elementwise, on_tensors
from harness.codegen.costs.operations.integers import integer_constant, select
from harness.codegen.costs.trees import NOTHING, Amounts, CostTree
from harness.codegen.costs.walk import Handler, Walk, named

ONE_OPERATION: Amounts = {Kind.OTHER: 1}
FUSED_MULTIPLY_ADD: Amounts = {Kind.OTHER: 2, Kind.FMA: 2}
ONE_EXPONENTIAL: Amounts = {Kind.EXP: 1}

ARITHMETIC_NAMES = (
    *named("arith", "addf subf mulf divf remf negf maximumf minimumf maxnumf minnumf"),
    *named("math", "absf ceil floor log log1p log2 powf round roundeven rsqrt sqrt tanh trunc"),
)
EXPONENTIALS = named("math", "exp exp2")

FREE_ON_FLOATS = (
    *named("arith", "bitcast cmpf extf fptosi fptoui sitofp truncf uitofp"),
    *named("math", "copysign isfinite isinf isnan"),
)
"""Comparisons, conversions and handling of bits: they cost nothing."""


def _free(walk: Walk, operation: ir.OpView) -> CostTree:
    """Count an operation without cost; on whole tensors it still moves them."""
    if is_memory(operation.results[0].type):
        return on_tensors(walk, operation, {})
    return NOTHING


def _constant(walk: Walk, operation: ir.OpView) -> CostTree:
    """Define a constant; a tensor of constants is memory that somebody else has filled."""
    result = operation.results[0]
    integer_constant(walk, operation)
    if is_memory(result.type):
        shape = tuple(Constant(size) for size in result.type.shape)
        walk.define(result, Memory(Buffer(Level.SCRATCH), shape, result.type.element_type))
    return NOTHING


def _select(walk: Walk, operation: ir.OpView) -> CostTree:
    """Choose between scalars or vectors for nothing, between tensors element by element."""
    select(walk, operation)
    result = operation.results[0]
    if isinstance(result.type, ir.MemRefType):
        raise NotCountable("arith.select of memrefs: which memory is used is known only when it runs")
    return _free(walk, operation)


ARITHMETIC: dict[str, Handler] = {
    **dict.fromkeys(ARITHMETIC_NAMES, elementwise(ONE_OPERATION)),
    **dict.fromkeys(EXPONENTIALS, elementwise(ONE_EXPONENTIAL)),
    **dict.fromkeys(("math.fma", "vector.fma"), elementwise(FUSED_MULTIPLY_ADD)),
    **dict.fromkeys(FREE_ON_FLOATS, _free),
    "arith.constant": _constant,
    "arith.select": _select,
}

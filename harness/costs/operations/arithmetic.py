"""Floating-point arithmetic of `arith` and `math`, on scalars, vectors and tensors."""

from mlir import ir

from harness.costs.costs import NotCountable
from harness.costs.expressions import Constant
from harness.costs.memory import Buffer, Level, Memory, is_memory
from harness.costs.operations.elementwise import elementwise, on_tensors
from harness.costs.operations.integers import integer_constant, select
from harness.costs.operations.kinds import Kind
from harness.costs.trees import NOTHING, Amounts, CostTree
from harness.costs.walk import Handler, Walk

ONE_OPERATION: Amounts = {Kind.OTHER: 1}
FUSED_MULTIPLY_ADD: Amounts = {Kind.OTHER: 2, Kind.FMA: 2}
ONE_EXPONENTIAL: Amounts = {Kind.EXP: 1}

ARITHMETIC_NAMES = (
    "arith.addf",
    "arith.subf",
    "arith.mulf",
    "arith.divf",
    "arith.remf",
    "arith.negf",
    "arith.maximumf",
    "arith.minimumf",
    "arith.maxnumf",
    "arith.minnumf",
    "math.absf",
    "math.ceil",
    "math.floor",
    "math.log",
    "math.log1p",
    "math.log2",
    "math.powf",
    "math.round",
    "math.roundeven",
    "math.rsqrt",
    "math.sqrt",
    "math.tanh",
    "math.trunc",
)
EXPONENTIALS = ("math.exp", "math.exp2")

FREE_ON_FLOATS = (
    "arith.bitcast",
    "arith.cmpf",
    "arith.extf",
    "arith.fptosi",
    "arith.fptoui",
    "arith.sitofp",
    "arith.truncf",
    "arith.uitofp",
    "math.copysign",
    "math.isfinite",
    "math.isinf",
    "math.isnan",
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

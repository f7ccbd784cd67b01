"""Arithmetic of `arith`, `math` and `affine`, on scalars, vectors and tensors.

That of floating-point numbers is what is counted.  That of integers costs nothing, but decides what loops
execute: on scalars it is followed.
"""

import math
import operator
from collections.abc import Callable
from enum import Enum, auto
from functools import partial

from mlir import ir

from harness.codegen.costs.costs import NotCountable
from harness.codegen.costs.expressions import Constant, Expression, computed, selected
from harness.codegen.costs.memory import Buffer, Level, Memory, is_memory
from harness.codegen.costs.trees import NOTHING, Amounts, CostTree, Fixed, repeated, sequence
from harness.codegen.costs.walk import Handler, Walk, is_integer, named

INDEX_WIDTH = 64


class Kind(Enum):
    """Key of an amount of operations; see `harness.codegen.costs.costs.Costs` for what each holds."""

    MATMUL = auto()
    EXP = auto()
    OTHER = auto()
    FMA = auto()
    """What of OTHER is fused multiply-adds: counted in both."""


FUSED_MULTIPLY_ADD: Amounts = {Kind.OTHER: 2, Kind.FMA: 2}


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
            return _on_tensors(walk, operation, amounts)
        count = elements_of(operation.results[0].type) if amounts else 0
        return repeated(Constant(count), Fixed(amounts))

    return handle


def _on_tensors(walk: Walk, operation: ir.OpView, amounts: Amounts) -> CostTree:
    """Count an operation on whole tensors, which reads its operands and writes new memory."""
    operands = [walk.memory(value) for value in operation.operands if is_memory(value.type)]
    result = walk.fresh(operation.results[0], operands[0].shape)
    moved = [operand.reads() for operand in operands]
    return sequence([repeated(result.elements(), Fixed(amounts)), *moved, result.writes()])


free = elementwise({})
"""Counts an operation without cost; on whole tensors it still moves them."""


def _constant(walk: Walk, operation: ir.OpView) -> CostTree:
    """Define a constant; a tensor of constants is memory that somebody else has filled."""
    result = operation.results[0]
    integer_constant(walk, operation)
    if is_memory(result.type):
        shape = tuple(Constant(size) for size in result.type.shape)
        walk.define(result, Memory(Buffer(Level.SCRATCH), shape, result.type.element_type))
    return NOTHING


def integer_constant(walk: Walk, operation: ir.OpView) -> None:
    """Define a scalar constant."""
    result = operation.results[0]
    if is_integer(result.type):
        value = operation.attributes["value"]
        number = int(ir.BoolAttr(value).value if isinstance(value, ir.BoolAttr) else value.value)
        walk.define(result, Constant(_signed(number, _width(result.type))))


def _select(walk: Walk, operation: ir.OpView) -> CostTree:
    """Choose between scalars or vectors for nothing, between tensors element by element."""
    result, integers = operation.results[0], [walk.integer(value) for value in operation.operands]
    if is_integer(result.type):
        walk.define(result, selected(*integers))
    if isinstance(result.type, ir.MemRefType):
        raise NotCountable("arith.select of memrefs: which memory is used is known only when it runs")
    return free(walk, operation)


def _width(kind: ir.Type) -> int:
    return ir.IntegerType(kind).width if isinstance(kind, ir.IntegerType) else INDEX_WIDTH


def _signed(number: int, width: int) -> int:
    """Return how an integer of a width is kept here: as a signed number, but an i1 as 0 or 1."""
    number &= (1 << width) - 1
    return number - (1 << width) if width > 1 and number >> (width - 1) else number


def _as_signed(number: int, width: int) -> int:
    return -number if width == 1 else number


def _unsigned(number: int, width: int) -> int:
    return number & ((1 << width) - 1)


def _truncated_quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _truncated_remainder(a: int, b: int) -> int:
    return a - b * _truncated_quotient(a, b)


def _ceiling_quotient(a: int, b: int) -> int:
    return -(-a // b)


SIGNED: dict[str, Callable[[int, int], int]] = {
    "arith.addi": operator.add,
    "arith.subi": operator.sub,
    "arith.muli": operator.mul,
    "arith.divsi": _truncated_quotient,
    "arith.floordivsi": operator.floordiv,
    "arith.ceildivsi": _ceiling_quotient,
    "arith.remsi": _truncated_remainder,
    "arith.maxsi": max,
    "arith.minsi": min,
    "arith.andi": operator.and_,
    "arith.ori": operator.or_,
    "arith.xori": operator.xor,
    "arith.shli": operator.lshift,
    "arith.shrsi": operator.rshift,
}

UNSIGNED: dict[str, Callable[[int, int], int]] = {
    "arith.divui": operator.floordiv,
    "arith.ceildivui": _ceiling_quotient,
    "arith.remui": operator.mod,
    "arith.maxui": max,
    "arith.minui": min,
    "arith.shrui": operator.rshift,
}

COMPARISONS: tuple[tuple[Callable[[int, int], bool], bool], ...] = (
    *((compare, True) for compare in (operator.eq, operator.ne)),
    *((compare, True) for compare in (operator.lt, operator.le, operator.gt, operator.ge)),
    *((compare, False) for compare in (operator.lt, operator.le, operator.gt, operator.ge)),
)
"""Comparison and whether it is signed, by the number of the `arith.cmpi` predicate."""

SIGN_KEEPING = ("arith.index_cast", "arith.extsi", "arith.trunci")
ZERO_EXTENDING = ("arith.index_castui", "arith.extui")


def _followed(evaluate: Callable[[Walk, ir.OpView], Expression]) -> Handler:

    def handler(walk: Walk, operation: ir.OpView) -> CostTree:
        operand, result = operation.operands[0], operation.results[0]
        if is_integer(operand.type) and is_integer(result.type):
            walk.define(result, evaluate(walk, operation))
        return free(walk, operation)

    return handler


def _binary(walk: Walk, operation: ir.OpView) -> Expression:
    name, width = operation.name, _width(operation.results[0].type)
    function, view = (
        (SIGNED[name], int) if name in SIGNED else (UNSIGNED[name], partial(_unsigned, width=width))
    )
    operands = [walk.integer(operand) for operand in operation.operands]
    return computed(lambda a, b: _signed(function(view(a), view(b)), width), *operands)


def _compared(walk: Walk, operation: ir.OpView) -> Expression:
    left, right = operation.operands
    width = _width(left.type)
    comparison, is_signed = COMPARISONS[ir.IntegerAttr(operation.attributes["predicate"]).value]
    view = _as_signed if is_signed else _unsigned
    return computed(
        lambda a, b: int(comparison(view(a, width), view(b, width))), walk.integer(left), walk.integer(right)
    )


def _converted(walk: Walk, operation: ir.OpView) -> Expression:
    operand = operation.operands[0]
    before, after = _width(operand.type), _width(operation.results[0].type)
    view = _unsigned if operation.name in ZERO_EXTENDING else _as_signed
    return computed(lambda number: _signed(view(number, before), after), walk.integer(operand))


AFFINE: tuple[tuple[type, Callable[[int, int], int]], ...] = (
    (ir.AffineAddExpr, operator.add),
    (ir.AffineMulExpr, operator.mul),
    (ir.AffineModExpr, operator.mod),
    (ir.AffineFloorDivExpr, operator.floordiv),
    (ir.AffineCeilDivExpr, _ceiling_quotient),
)


def affine_expression(
    expression: ir.AffineExpr, dimensions: list[Expression], symbols: list[Expression]
) -> Expression:
    """Return an affine expression of integers."""
    if isinstance(expression, ir.AffineConstantExpr):
        return Constant(ir.AffineConstantExpr(expression).value)
    if isinstance(expression, ir.AffineDimExpr):
        return dimensions[ir.AffineDimExpr(expression).position]
    if isinstance(expression, ir.AffineSymbolExpr):
        return symbols[ir.AffineSymbolExpr(expression).position]
    binary = ir.AffineBinaryExpr(expression)
    sides = [affine_expression(side, dimensions, symbols) for side in (binary.lhs, binary.rhs)]
    return computed(next(function for kind, function in AFFINE if isinstance(expression, kind)), *sides)


def _affine(walk: Walk, operation: ir.OpView) -> CostTree:
    mapping = ir.AffineMapAttr(operation.attributes["map"]).value
    operands = [walk.integer(operand) for operand in operation.operands]
    dimensions, symbols = operands[: mapping.n_dims], operands[mapping.n_dims :]
    numbers = [affine_expression(expression, dimensions, symbols) for expression in mapping.results]
    choose: Callable[..., int] = min if operation.name == "affine.min" else max
    extreme = numbers[0] if len(numbers) == 1 else computed(lambda *values: choose(values), *numbers)
    walk.define(operation.results[0], extreme)
    return NOTHING


def _delinearize(walk: Walk, operation: ir.OpView) -> CostTree:
    """Split an index into coordinates; without a size for the first one, that is what remains."""
    index, *dynamic = operation.operands
    sizes = walk.mixed(operation, "static_basis", dynamic)
    results = list(operation.results)
    rest = walk.integer(index)
    for position in reversed(range(len(results))):
        from_end = len(results) - position
        if from_end > len(sizes) or position == 0:
            walk.define(results[position], rest)
            continue
        size = sizes[len(sizes) - from_end]
        walk.define(results[position], computed(operator.mod, rest, size))
        rest = computed(operator.floordiv, rest, size)
    return NOTHING


INTEGERS: dict[str, Handler] = {
    **dict.fromkeys((*SIGNED, *UNSIGNED), _followed(_binary)),
    **dict.fromkeys((*SIGN_KEEPING, *ZERO_EXTENDING), _followed(_converted)),
    **dict.fromkeys(("affine.apply", "affine.min", "affine.max"), _affine),
    "arith.cmpi": _followed(_compared),
    "affine.delinearize_index": _delinearize,
}

COUNTED_ONCE = (
    *named("arith", "addf subf mulf divf remf negf maximumf minimumf maxnumf minnumf"),
    *named("math", "absf ceil floor log log1p log2 powf round roundeven rsqrt sqrt tanh trunc"),
)
FREE_ON_FLOATS = (
    *named("arith", "bitcast cmpf extf fptosi fptoui sitofp truncf uitofp"),
    *named("math", "copysign isfinite isinf isnan"),
)
"""Comparisons, conversions and handling of bits: they cost nothing."""

ARITHMETIC: dict[str, Handler] = {
    **INTEGERS,
    **dict.fromkeys(COUNTED_ONCE, elementwise({Kind.OTHER: 1})),
    **dict.fromkeys(named("math", "exp exp2"), elementwise({Kind.EXP: 1})),
    **dict.fromkeys(("math.fma", "vector.fma"), elementwise(FUSED_MULTIPLY_ADD)),
    **dict.fromkeys(FREE_ON_FLOATS, free),
    "arith.constant": _constant,
    "arith.select": _select,
}

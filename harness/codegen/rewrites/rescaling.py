"""What becomes of a reduction's terms when a statistic changes that they depend on, read off plain linalg.

Terms such as e^(x − m) / a · v were added up while the statistics were m and a.  When they become m' and a',
the sum is right again after a multiplication by e^(m − m') · a / a'.  That takes no x and no v, because each
term is linear in a factor of the statistics.  What a maximum is taken of is moved by a difference instead.
Both are derived from the operations that compute a term, by the rules in `_RULES`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import arith
from mlir.dialects import math as mlir_math

from harness.codegen.dialect.operations import BatchMatmul
from harness.codegen.ir.walk import producer_of, terminator_of
from harness.codegen.rewrites.dependencies import needed_by
from harness.codegen.rewrites.structured import StructuredView, view_of

Scalars = Mapping[ir.Value, ir.Value]
"""From statistics to their scalars in one state."""

Emit = Callable[[Scalars], ir.Value]
"""Builds a scalar from the statistics of one state."""

EmitChange = Callable[[Scalars, Scalars], ir.Value | None]
"""Builds a scalar from the statistics before and after; None where it would be no change."""


@dataclass(frozen=True)
class Change:
    """How a scalar changes with statistics; a member is None where it takes more than them to tell."""

    statistics: tuple[ir.Value, ...] = ()
    """Those that it depends on; where there are none it does not change."""
    value: Emit | None = None
    """The scalar itself."""
    difference: EmitChange | None = None
    """After minus before."""
    ratio: EmitChange | None = None
    """After divided by before."""


def _none(before: Scalars, after: Scalars) -> None:
    return None


def _fixed(value: Emit | None = None) -> Change:
    return Change(value=value, difference=_none, ratio=_none)


class Changes:
    """Derives how elements of tensors change with statistics, which are results of reductions."""

    def __init__(self) -> None:
        self.statistics: set[ir.Value] = set()

    def of_tensor(self, tensor: ir.Value) -> Change:
        """Return how an element of a tensor changes."""
        if tensor in self.statistics:
            return _pure((tensor,), lambda scalars: scalars[tensor])
        producer = producer_of(tensor)
        if producer is None or not self._depends(producer):
            return _fixed()
        view = view_of(producer)
        if producer.name != "linalg.generic" or view is None or any(view.is_reduction):
            return Change(tuple(self.statistics))
        result = ir.OpResult(tensor).result_number
        return self.of_scalar(producer, terminator_of(producer.regions[0].blocks[0]).operands[result])

    def of_scalar(self, generic: ir.OpView, scalar: ir.Value) -> Change:
        """Return how a scalar in the body of a structured operation changes."""
        if isinstance(scalar, ir.BlockArgument):
            return self.of_tensor(generic.operands[scalar.arg_number])
        operation = ir.OpResult(scalar).owner.opview
        if operation.operation.block != generic.regions[0].blocks[0]:
            return _fixed(lambda scalars: scalar)
        changes = [self.of_scalar(generic, operand) for operand in operation.operands]
        return _combined(operation, changes)

    def of_term(self, term: "Term") -> Change:
        """Return how what a reduction adds up, or takes the extreme of, changes."""
        if term.generic.name == BatchMatmul.NAME:
            product = [self.of_tensor(factor) for factor in term.factors]
        else:
            product = [self.of_scalar(term.generic, factor) for factor in term.factors]
        return product[0] if len(product) == 1 else _with_statistics(_product(*product), product)

    def _depends(self, producer: ir.OpView) -> bool:
        owners = {ir.OpResult(value).owner.operation for value in self.statistics}
        return bool(owners & needed_by(producer))


@dataclass(frozen=True)
class Term:
    """What a reduction adds up or takes the extreme of."""

    generic: ir.OpView
    factors: tuple[ir.Value, ...]
    """A scalar in the body, or two whose product it is; of `attn.batch_matmul` tensors."""
    is_added: bool


def term_of(view: StructuredView) -> Term | None:
    """Return the term of a reduction, None for one of another kind than sums, minima and maxima."""
    operation = view.operation
    if operation.name == BatchMatmul.NAME:
        product = BatchMatmul(operation)
        return Term(operation, (product.lhs, product.rhs), is_added=True)
    if not operation.name.startswith("linalg.") or len(operation.results) != 1 or not len(operation.regions):
        return None
    block = operation.regions[0].blocks[0]
    accumulator = block.arguments[view.init_operands[0]]
    combiner = producer_of(terminator_of(block).operands[0])
    if combiner is None:
        return None
    if combiner.name == "math.fma" and combiner.operands[2] == accumulator:
        return Term(operation, tuple(combiner.operands)[:2], is_added=True)
    terms = [value for value in combiner.operands if value != accumulator]
    if combiner.name not in ("arith.addf", *_EXTREMES) or len(terms) != 1:
        return None
    return Term(operation, (terms[0],), is_added=combiner.name == "arith.addf")


_EXTREMES = ("arith.maximumf", "arith.maxnumf", "arith.minimumf", "arith.minnumf")


def _combined(operation: ir.OpView, changes: Sequence[Change]) -> Change:
    """Return how the result of a scalar operation changes, by how its operands do."""
    values = [change.value for change in changes]
    value: Emit | None = None
    if all(values) and not operation.name.startswith("linalg."):
        value = lambda scalars: _cloned(operation, [emit(scalars) for emit in values if emit])  # noqa: E731
    statistics = _statistics(changes)
    if not statistics:
        return _fixed(value)
    if value is not None:
        return _pure(statistics, value)
    rule = _RULES.get(operation.name)
    return Change(statistics) if rule is None else _with_statistics(rule(*changes), changes)


def _statistics(changes: Sequence[Change]) -> tuple[ir.Value, ...]:
    return tuple(dict.fromkeys(value for change in changes for value in change.statistics))


def _with_statistics(change: Change, changes: Sequence[Change]) -> Change:
    return Change(_statistics(changes), change.value, change.difference, change.ratio)


def _pure(statistics: tuple[ir.Value, ...], value: Emit) -> Change:
    """Return the change of what statistics alone determine."""
    return Change(
        statistics,
        value,
        lambda before, after: arith.subf(value(after), value(before)),
        lambda before, after: arith.divf(value(after), value(before)),
    )


def _cloned(operation: ir.OpView, operands: Sequence[ir.Value]) -> ir.Value:
    clone = operation.operation.clone()
    for number, operand in enumerate(operands):
        clone.operands[number] = operand
    result: ir.Value = clone.results[0]
    return result


def _either(
    left: EmitChange | None, right: EmitChange | None, both: Callable[[ir.Value, ir.Value], ir.Value]
) -> EmitChange | None:
    """Return what combines two changes, of which one alone stays as it is."""
    if left is None or right is None:
        return None

    def emit(before: Scalars, after: Scalars) -> ir.Value | None:
        first, second = left(before, after), right(before, after)
        if first is None or second is None:
            return second if first is None else first
        return both(first, second)

    return emit


def _mapped(change: EmitChange | None, build: Callable[[ir.Value], ir.Value]) -> EmitChange | None:
    if change is None:
        return None

    def emit(before: Scalars, after: Scalars) -> ir.Value | None:
        own = change(before, after)
        return None if own is None else build(own)

    return emit


def _times(change: EmitChange | None, constant: Change) -> EmitChange | None:
    """Return a difference times what does not change and is known."""
    value = constant.value
    if constant.statistics or value is None:
        return None
    return _mapped(change, lambda own: arith.mulf(own, value({})))


def _sum(left: Change, right: Change) -> Change:
    return Change(difference=_either(left.difference, right.difference, arith.addf))


def _negative(change: Change) -> Change:
    return Change(difference=_mapped(change.difference, arith.negf), ratio=change.ratio)


def _product(left: Change, right: Change) -> Change:
    difference = _times(left.difference, right) or _times(right.difference, left)
    return Change(difference=difference, ratio=_either(left.ratio, right.ratio, arith.mulf))


def _quotient(left: Change, right: Change) -> Change:
    inverse = _mapped(right.ratio, lambda own: arith.divf(arith.constant(own.type, 1.0), own))
    return Change(ratio=_either(left.ratio, inverse, arith.mulf))


def _power(exponential: Callable[[ir.Value], ir.Value]) -> Callable[[Change], Change]:
    return lambda exponent: Change(ratio=_mapped(exponent.difference, exponential))


_RULES: dict[str, Callable[..., Change]] = {
    "arith.addf": _sum,
    "arith.subf": lambda left, right: _sum(left, _negative(right)),
    "arith.negf": _negative,
    "arith.mulf": _product,
    "arith.divf": _quotient,
    "math.fma": lambda left, right, addend: _sum(_product(left, right), addend),
    "math.exp": _power(mlir_math.exp),
    "math.exp2": _power(mlir_math.exp2),
    "arith.extf": lambda change: change,
    "arith.truncf": lambda change: change,
}
"""How results change, by operations."""

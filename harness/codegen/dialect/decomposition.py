"""Each `attn` operation as upstream linalg.

Functional: a decomposition puts the new operations before the old one, redirects its users, erases it, and
returns what it made.  The forms compute in place (`outs`) wherever a value is not needed afterwards, so that
bufferization needs no copies.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import arith
from mlir.dialects import math as mlir_math

from harness.codegen.dialect.attention import take_apart
from harness.codegen.dialect.operations import (
    SOFTMAX_NAMES,
    Attention,
    BatchMatmul,
    Diag,
    LengthMask,
    Mask,
    RowMask,
    Softmax,
    loop_letters,
)
from harness.codegen.ir import builder as b
from harness.codegen.ir.affine_form import AffineForm
from harness.codegen.ir.constants import constant_of_fill
from harness.codegen.ir.walk import operations_within, producer_of

LOG2_E = math.log2(math.e)

LARGEST_FUSED_FACTOR = 16 * LOG2_E
"""Up to here the exponent `c·score − c·maximum` is one fused multiply-add, whose `c·maximum` is rounded: the
exponent is wrong by up to 2⁻²⁴ of it, and the power infinite from where that is 128, at 2³¹.  With a scale
of 16 (usual ones are below 1) that takes scores of 2²⁶.  With larger scales ordinary scores suffice, so
`score − maximum`, exact for scores close to the maximum, is multiplied."""


def decompose_all(root: ir.Module | ir.OpView) -> list[ir.OpView]:
    """Decompose every `attn` operation within, in place; returns all new operations."""
    made: list[ir.OpView] = []
    for nested in list(operations_within(root.operation)):
        if nested.name == Attention.NAME:
            take_apart(nested)
    for nested in list(operations_within(root.operation)):
        if nested.name in _DECOMPOSITIONS:
            made += decompose(nested)
    return made


def decompose(operation: ir.OpView) -> list[ir.OpView]:
    """Replace one `attn` operation; returns the operations that now compute its results."""
    block = operation.operation.block
    before = {other.operation for other in block.operations}
    with ir.InsertionPoint(operation), operation.location:
        values = _DECOMPOSITIONS[operation.name](operation)
    made = [other for other in block.operations if other.operation not in before]
    for result, value in zip(operation.results, values, strict=True):
        result.replace_all_uses_with(value)
    operation.operation.erase()
    return made


def multiply_add(left: ir.Value, right: ir.Value, accumulator: ir.Value) -> ir.Value:
    """Body of a contraction that accumulates in the accumulator's type."""
    dtype = b.dtype_of(accumulator)
    return arith.addf(arith.mulf(b.widen(left, dtype), b.widen(right, dtype)), accumulator)


def safe_quotient(element: ir.Value, total: ir.Value) -> ir.Value:
    """Divide scalars, except that 0 / 0 is 0: what a row that sees no key is to give."""
    dtype = b.dtype_of(total)
    empty_row = arith.cmpf(arith.CmpFPredicate.OEQ, total, b.constant(0.0, dtype))
    return arith.divf(element, arith.select(empty_row, b.constant(1.0, dtype), total))


def unshifted(total: ir.Value, shift: int) -> ir.Value:
    """Return the total of rows without the power of two that exponentials were multiplied by."""
    if not shift:
        return total
    dtype = b.dtype_of(total)
    return b.elementwise(total, lambda sum_: arith.mulf(sum_, b.constant(2.0**-shift, dtype)))


def rescaled_rows(matrix: ir.Value, factor: ir.Value) -> ir.Value:
    """Return `[.., rows, width]` or `[.., rows]` with each row multiplied by its factor, in place."""
    rows = loop_letters(factor.type.rank)
    width = "z" * (matrix.type.rank - factor.type.rank)
    return b.structured(
        f"{rows}->{rows}{width}", [factor], matrix, lambda scalar, x: arith.mulf(scalar, x), takes_init=True
    )


def _batch_matmul(operation: ir.OpView) -> list[ir.Value]:
    product = BatchMatmul(operation)
    lhs, rhs, result = product.subscripts()
    return [b.structured(f"{lhs},{rhs}->{result}", [product.lhs, product.rhs], product.init, multiply_add)]


def _diag(operation: ir.OpView) -> list[ir.Value]:
    diagonal = Diag(operation)
    rank = diagonal.x.type.rank
    rows = loop_letters(rank)

    def body(element: ir.Value) -> ir.Value:
        on_diagonal = arith.cmpi(arith.CmpIPredicate.eq, b.loop_index(rank - 1), b.loop_index(rank))
        return arith.select(on_diagonal, element, b.constant(0.0, b.dtype_of(element)))

    return [b.structured(f"{rows}->{rows}z", [diagonal.x], operation.operands[1], body)]


def _softmax(operation: ir.OpView) -> list[ir.Value]:
    """See `harness.codegen.dialect.definition`; exponentials are powers of two, c·log2 e in the exponent."""
    softmax = Softmax(operation)
    full = loop_letters(softmax.x.type.rank)
    rows = full[: softmax.dimension] + full[softmax.dimension + 1 :]
    factor = softmax.scale * LOG2_E
    largest = b.structured(f"{full}->{rows}", [softmax.x], softmax.initial_maximum, arith.maximumf)
    maximum = _kept_maximum(softmax, largest) if softmax.slack and _is_running(softmax) else largest
    correction = rescaling(softmax, softmax.initial_maximum, maximum, softmax.correction_out)
    exponentials = _fused_exponentials if _is_fused(softmax) else _exponentials
    probability = exponentials(softmax.x, maximum, f"{rows}->{full}", factor, softmax.shift)
    carried = rescaled_rows(softmax.initial_total, correction)
    total = b.structured(f"{full}->{rows}", [probability], carried, arith.addf)
    if not softmax.is_normalized:
        return [probability, maximum, total, correction]
    divisor = unshifted(total, softmax.shift)
    divided = b.structured(
        f"{rows}->{full}", [divisor], probability, lambda sum_, x: safe_quotient(x, sum_), takes_init=True
    )
    kept = b.structured(f"{rows},{rows}->{rows}", [carried, total], softmax.correction_out, safe_quotient)
    return [divided, maximum, total, kept]


def _is_running(softmax: Softmax) -> bool:
    return constant_of_fill(softmax.initial_maximum) is None


def _kept_maximum(softmax: Softmax, largest: ir.Value) -> ir.Value:
    """Return the maximum so far where the largest of all scores does not exceed it by more than the slack."""
    rows, dtype = loop_letters(largest.type.rank), b.dtype_of(largest)
    slack = b.constant(softmax.slack / (softmax.scale * LOG2_E), dtype)

    def kept(before: ir.Value, now: ir.Value) -> ir.Value:
        exceeds = arith.cmpf(arith.CmpFPredicate.OGT, now, arith.addf(before, slack))
        return arith.select(exceeds, now, before)

    return b.structured(f"{rows}->{rows}", [softmax.initial_maximum], largest, kept, takes_init=True)


def _is_fused(softmax: Softmax) -> bool:
    return not softmax.subtracts_first and abs(softmax.scale * LOG2_E) <= LARGEST_FUSED_FACTOR


def rescaling(softmax: Softmax, before: ir.Value, after: ir.Value, out: ir.Value) -> ir.Value:
    """Return `e^(c·(before − after))` of rows: sums relative to a maximum, times it, are relative to another.

    Where `c·maximum` is rounded in exponents, it is the difference of what they have.
    """
    rows, dtype = loop_letters(before.type.rank), b.dtype_of(before)
    factor = softmax.scale * LOG2_E

    def exponent(old: ir.Value, new: ir.Value) -> ir.Value:
        if not _is_fused(softmax):
            return arith.mulf(arith.subf(old, new), b.constant(factor, dtype))
        offsets = [_multiply_add(maximum, -factor, softmax.shift, dtype) for maximum in (new, old)]
        return arith.subf(*offsets)

    return b.structured(
        f"{rows},{rows}->{rows}", [before, after], out, lambda old, new: mlir_math.exp2(exponent(old, new))
    )


def _exponentials(x: ir.Value, maximum: ir.Value, subscripts: str, factor: float, shift: int) -> ir.Value:
    dtype = b.dtype_of(x)

    def power(largest: ir.Value, score: ir.Value) -> ir.Value:
        difference = arith.subf(score, largest)
        return mlir_math.exp2(_multiply_add(difference, factor, shift, dtype))

    return b.structured(subscripts, [maximum], x, power, takes_init=True)


def _fused_exponentials(
    x: ir.Value, maximum: ir.Value, subscripts: str, factor: float, shift: int
) -> ir.Value:
    dtype = b.dtype_of(x)
    offsets = b.elementwise(maximum, lambda largest: _multiply_add(largest, -factor, shift, dtype))
    return b.structured(
        subscripts,
        [offsets],
        x,
        lambda offset, score: mlir_math.exp2(mlir_math.fma(score, b.constant(factor, dtype), offset)),
        takes_init=True,
    )


def _multiply_add(value: ir.Value, factor: float, addend: int, dtype: str) -> ir.Value:
    if not addend:
        return arith.mulf(value, b.constant(factor, dtype))
    return mlir_math.fma(value, b.constant(factor, dtype), b.constant(float(addend), dtype))


def _mask(operation: ir.OpView) -> list[ir.Value]:
    mask = Mask(operation)
    letters = loop_letters(mask.x.type.rank)
    terms = [_Inequality.of(mask, AffineForm.of(expression)) for expression in mask.visible.results]
    return [_elementwise("", [], mask.x, letters, lambda x: _kept(x, terms, mask.fill))]


def _length_mask(operation: ir.OpView) -> list[ir.Value]:
    mask = LengthMask(operation)
    letters = loop_letters(mask.x.type.rank)
    forms = [AffineForm.of(expression) for expression in mask.visible.results]
    terms = [_Inequality.of(mask, form) for form in forms]

    def body(length: ir.Value, element: ir.Value) -> ir.Value:
        moved = [term.plus(length, form.symbols.get(0, 0)) for term, form in zip(terms, forms, strict=True)]
        return _kept(element, moved, mask.fill)

    return [_elementwise(f"{letters[0]},", [mask.lengths], mask.x, letters, body)]


def _elementwise(before: str, operands: list[ir.Value], x: ir.Value, letters: str, body: b.Body) -> ir.Value:
    """Change each element of a tensor: in place, unless it was given to the kernel and not computed there."""
    if _is_computed(x):
        return b.structured(f"{before.rstrip(',')}->{letters}", operands, x, body, takes_init=True)
    return b.structured(f"{before}{letters}->{letters}", [*operands, x], b.empty_like(x), body)


def _is_computed(value: ir.Value) -> bool:
    producer = producer_of(value)
    if producer is not None and producer.name == "tensor.extract_slice":
        return _is_computed(producer.operands[0])
    return producer is not None


def _kept(element: ir.Value, terms: Sequence["_Inequality"], fill: float) -> ir.Value:
    conditions = [term.holds() for term in terms]
    visible = conditions[0]
    for condition in conditions[1:]:
        visible = arith.andi(visible, condition)
    return arith.select(visible, element, b.constant(fill, b.dtype_of(element)))


def _row_mask(operation: ir.OpView) -> list[ir.Value]:
    mask = RowMask(operation)
    letters = loop_letters(mask.x.type.rank)
    offset = b.as_i32(mask.offset)

    def body(first: ir.Value, end: ir.Value, element: ir.Value) -> ir.Value:
        column = arith.addi(b.loop_index(len(letters) - 1), offset)
        visible = arith.andi(
            arith.cmpi(arith.CmpIPredicate.sge, column, first),
            arith.cmpi(arith.CmpIPredicate.slt, column, end),
        )
        return arith.select(visible, element, b.constant(mask.fill, b.dtype_of(element)))

    row = letters[-2]
    return [b.structured(f"{row},{row}->{letters}", [mask.first, mask.end], mask.x, body, takes_init=True)]


@dataclass(frozen=True)
class _Remainder:
    """A multiple of the remainder of a position, which is an offset and the index along an axis of a tile."""

    axis: int | None
    offset: ir.Value
    modulus: int
    coefficient: int

    def value(self) -> ir.Value:
        """Build the remainder inside a structured operation's body."""
        position = self.offset
        if self.axis is not None:
            position = arith.addi(b.loop_index(self.axis), position)
        return arith.remui(position, b.integer(self.modulus))


class _Inequality:
    """One inequality of a mask over a tile's own indices, its constant part computed outside the loops."""

    def __init__(
        self, coefficients: dict[int, int], remainders: Sequence["_Remainder"], base: ir.Value
    ) -> None:
        self.coefficients = coefficients
        self.remainders = remainders
        self.base = base

    @classmethod
    def of(cls, mask: Mask | LengthMask, form: AffineForm) -> "_Inequality":
        """Return an inequality of a mask; one of lengths is still without its length."""
        symbols = form.symbols if isinstance(mask, Mask) else {}
        values = [mask.offsets[d] for d in form.dimensions]
        if isinstance(mask, Mask):
            values += [mask.symbols[s] for s in symbols]
        factors = [*form.dimensions.values(), *symbols.values()]

        def expression(*dims: ir.AffineExpr) -> ir.AffineExpr:
            total = ir.AffineConstantExpr.get(form.constant)
            for factor, dim in zip(factors, dims, strict=True):
                total = total + dim * factor
            return total

        base = b.as_i32(b.affine_value(expression, *values))
        axes = {dimension: axis for axis, dimension in enumerate(mask.dimensions)}
        remainders = [
            _Remainder(axes.get(d), b.as_i32(mask.offsets[d]), modulus, c)
            for (d, modulus), c in form.remainders.items()
        ]
        return cls({axes[d]: c for d, c in form.dimensions.items() if d in axes}, remainders, base)

    def plus(self, value: ir.Value, factor: int) -> "_Inequality":
        """Return it with a multiple of a 32-bit integer added, inside a structured operation's body."""
        term = value if factor == 1 else arith.muli(value, b.integer(factor))
        return _Inequality(self.coefficients, self.remainders, arith.addi(self.base, term))

    def holds(self) -> ir.Value:
        """Build the comparison inside a structured operation's body."""
        left, right = self.base, None
        for term, coefficient in self._terms():
            if abs(coefficient) != 1:
                term = arith.muli(term, b.integer(abs(coefficient)))
            if coefficient > 0:
                left = arith.addi(left, term)
            else:
                right = term if right is None else arith.addi(right, term)
        return arith.cmpi(arith.CmpIPredicate.sge, left, b.integer(0) if right is None else right)

    def _terms(self) -> Iterator[tuple[ir.Value, int]]:
        """Yield what differs by element, and how many times it counts; each is built when it is needed."""
        for axis, coefficient in self.coefficients.items():
            yield b.loop_index(axis), coefficient
        for remainder in self.remainders:
            yield remainder.value(), remainder.coefficient


_DECOMPOSITIONS: dict[str, Callable[[ir.OpView], Sequence[ir.Value]]] = {
    BatchMatmul.NAME: _batch_matmul,
    SOFTMAX_NAMES[0]: _softmax,
    SOFTMAX_NAMES[1]: _softmax,
    Diag.NAME: _diag,
    Mask.NAME: _mask,
    LengthMask.NAME: _length_mask,
    RowMask.NAME: _row_mask,
}

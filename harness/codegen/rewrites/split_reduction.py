"""Go over the keys in parts, each from nothing, and merge what the parts give.

A loop that carries a running softmax takes one key tile after another.  What it gives for two disjoint sets
of keys can be merged exactly (Milakov and Gimelshein, *Online normalizer calculation for softmax*, 2018; for
decoding Dao et al., *Flash-Decoding*, 2023): with maxima m, totals a, unnormalised outputs O and the scale c

    m = max(m₁, m₂)    wᵢ = e^(c·(mᵢ − m))    a = w₁·a₁ + w₂·a₂    O = w₁·O₁ + w₂·O₂

Maximum and total are the log-sum-exp m + ln(a)/c in two numbers: no logarithm is needed, and a row of which a
part sees nothing, with a = 0 and O = 0, needs no −∞.  Its maximum is the lowest number, its weight 0 or 1.
Normalised outputs are merged by the shares wᵢ·aᵢ/a.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import arith, scf

from harness.codegen.dialect import operations as attn
from harness.codegen.dialect.decomposition import rescaling, safe_quotient
from harness.codegen.ir import builder as b
from harness.codegen.ir.constants import constant_float, constant_index, constant_of_fill
from harness.codegen.ir.for_loop import ForLoop
from harness.codegen.rewrites.errors import RewriteRefusedError
from harness.codegen.rewrites.ranges import add, as_value, floor_divide, minimum, multiply


@dataclass(frozen=True)
class RowState:
    """What a running softmax has of each row, and what has been added up by its probabilities."""

    output: ir.Value
    """`[.., rows, width]`."""
    maximum: ir.Value
    """`[.., rows]`."""
    total: ir.Value
    """`[.., rows]`."""


@dataclass(frozen=True)
class RunningReduction:
    """A loop that carries a running softmax and its product with V, and nothing else."""

    loop: ir.OpView
    softmax: attn.Softmax
    output: int
    """Which of the carried values is the output."""
    maximum: int
    total: int

    def state(self, carried: Sequence[ir.Value]) -> RowState:
        """Return the values of a loop's results, or of what it carries, by what they are."""
        return RowState(carried[self.output], carried[self.maximum], carried[self.total])

    def carried(self, state: RowState) -> list[ir.Value]:
        """Return the values of a state in the order of the loop's results."""
        places = {self.output: state.output, self.maximum: state.maximum, self.total: state.total}
        return [places[number] for number in range(len(places))]


def split_reduction(loop: ir.OpView, parts: int) -> ir.OpView:
    """Replace a loop over key tiles by one over parts of them, each of which has such a loop of its own.

    The parts differ by one tile at most.  Returns the loop over the parts.  Raises `RewriteRefusedError` for
    a loop that carries something else than a running softmax with its product, that does not start from
    nothing, or whose length is known only at run time.
    """
    reduction = running_reduction(loop)
    length, step = _length_and_step(loop)
    _check_starts_from_nothing(reduction)
    first_state = ForLoop(loop).initial_values
    with ir.InsertionPoint(loop), loop.location:
        over_parts = scf.ForOp(b.index(0), b.index(parts), b.index(1), first_state)
        with ir.InsertionPoint(over_parts.body):
            bounds = _bounds_of_part(over_parts.induction_variable, parts, length, step)
            operands = [*bounds, ForLoop(loop).step, *map(_made_anew, first_state)]
            part = loop.operation.clone().opview
            for number, value in enumerate(operands):
                part.operands[number] = value
            merged = _merged(
                reduction.softmax,
                reduction.state(list(over_parts.inner_iter_args)),
                reduction.state(list(part.results)),
            )
            scf.YieldOp(reduction.carried(merged))
    for result, value in zip(loop.results, over_parts.results, strict=True):
        result.replace_all_uses_with(value)
    loop.operation.erase()
    return over_parts


def running_reduction(loop: ir.OpView) -> RunningReduction:
    """Return what a loop carries; raises `RewriteRefusedError` for anything but a running softmax."""
    yielded = ForLoop(loop).yielded
    softmaxes = [attn.Softmax(op) for op in ForLoop(loop).body.operations if op.name in attn.SOFTMAX_NAMES]
    if len(softmaxes) != 1 or len(yielded) != 3:
        raise RewriteRefusedError(
            loop, "it does not carry maximum, total and output of one running softmax and nothing else"
        )
    (softmax,) = softmaxes
    maximum, total = (
        _position(loop, yielded, value, initial)
        for value, initial in (
            (softmax.maximum, softmax.initial_maximum),
            (softmax.total, softmax.initial_total),
        )
    )
    (output,) = {0, 1, 2} - {maximum, total}
    owner = yielded[output].owner
    is_product = isinstance(owner, ir.Operation | ir.OpView) and owner.name == attn.BatchMatmul.NAME
    if not is_product or attn.BatchMatmul(owner.opview).lhs != softmax.probability:
        raise RewriteRefusedError(loop, "what it adds up is no product of its probabilities with V")
    return RunningReduction(loop, softmax, output, maximum, total)


def _position(loop: ir.OpView, yielded: list[ir.Value], value: ir.Value, initial: ir.Value) -> int:
    """Return which of the carried values is a statistic that the softmax continues from its initial value."""
    positions = [
        number
        for number, (argument, next_value) in enumerate(zip(ForLoop(loop).carried, yielded, strict=True))
        if next_value == value and argument == initial
    ]
    if len(positions) != 1:
        raise RewriteRefusedError(loop, "it does not carry the statistics of its softmax")
    return positions[0]


def _length_and_step(loop: ir.OpView) -> tuple[int, int]:
    first, length, step = (constant_index(bound) for bound in ForLoop(loop).bounds)
    if first != 0 or length is None or step is None:
        raise RewriteRefusedError(loop, "it does not go from 0 to a known end in constant steps")
    return length, step


def _check_starts_from_nothing(reduction: RunningReduction) -> None:
    start = reduction.state(ForLoop(reduction.loop).initial_values)
    lowest = constant_of_fill(start.maximum)
    sums = [constant_of_fill(value) for value in (start.output, start.total)]
    if sums != [0.0, 0.0] or lowest is None or lowest > -1e29:
        raise RewriteRefusedError(
            reduction.loop, "it does not start from sums of 0 and the lowest maximum, as each part has to"
        )


def _bounds_of_part(part: ir.Value, parts: int, length: int, step: int) -> list[ir.Value]:
    """Return where a part starts and ends: its share of the tiles, of which the last may be ragged."""
    tiles = -(-length // step)
    before = multiply(part, tiles)
    first = multiply(floor_divide(before, parts), step)
    end = multiply(floor_divide(add(before, tiles), parts), step)
    return [as_value(first), as_value(end if length % step == 0 else minimum(end, length))]


def _made_anew(fill: ir.Value) -> ir.Value:
    number = constant_float(ir.OpResult(fill).owner.operands[0])
    return b.filled(0.0 if number is None else number, b.sizes_of(fill), b.dtype_of(fill))


def _merged(softmax: attn.Softmax, state: RowState, part: RowState) -> RowState:
    """Return what is known of the rows with a part's keys added, computed in the state's place."""
    rows = attn.loop_letters(state.maximum.type.rank)
    maximum = b.structured(f"{rows}->{rows}", [part.maximum], state.maximum, arith.maximumf, takes_init=True)
    befores = (state.maximum, part.maximum)
    weights = [rescaling(softmax, before, maximum, b.empty_like(before)) for before in befores]
    totals = [
        b.structured(f"{rows},{rows}->{rows}", [weight, total], b.empty_like(total), arith.mulf)
        for weight, total in zip(weights, (state.total, part.total), strict=True)
    ]
    total = b.structured(f"{rows},{rows}->{rows}", totals, state.total, arith.addf)
    if softmax.is_normalized:
        weights = [
            b.structured(f"{rows},{rows}->{rows}", [own, total], b.empty_like(total), safe_quotient)
            for own in totals
        ]
    output = b.structured(
        f"{rows},{rows},{rows}z->{rows}z",
        [*weights, part.output],
        state.output,
        lambda kept, taken, new, old: arith.addf(arith.mulf(kept, old), arith.mulf(taken, new)),
        takes_init=True,
    )
    return RowState(output, maximum, total)

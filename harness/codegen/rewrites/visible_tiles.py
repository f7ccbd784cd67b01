"""Visit only the tiles that a mask leaves something of, and mask only those that it cuts.

A loop over key tiles that carries a running softmax does nothing on a tile whose scores are all −inf.  From
the affine inequalities of the masks in its body follow, for each row tile, a range of key tiles that are seen
at all and within it a range of tiles that are seen whole.  The loop is split into a part without masks and
one with them, for tiles before it, after it, or at both ends.
"""

from dataclasses import dataclass

from mlir import ir
from mlir.dialects import arith

from harness.codegen.dialect import operations as attn
from harness.codegen.ir import builder as b
from harness.codegen.ir.affine_form import AffineForm
from harness.codegen.ir.constants import constant_index
from harness.codegen.ir.for_loop import ForLoop
from harness.codegen.rewrites.errors import RewriteRefusedError
from harness.codegen.rewrites.ranges import (
    add,
    as_value,
    folded,
    is_multiple,
    maximum,
    minimum,
    multiply,
    round_down,
    subtract,
)
from harness.codegen.rewrites.repeated_elements import RAGGED_TILE


@dataclass(frozen=True)
class TileBounds:
    """Loop positions: tiles from `first` to `end` are seen, from `whole_first` to `whole_end` whole."""

    first: b.Size
    whole_first: b.Size
    whole_end: b.Size
    end: b.Size


def split_at_masks(loop: ir.OpView, row_bounds: TileBounds | None = None) -> list[ir.OpView]:
    """Split a loop over tiles by what its masks leave; returns the loops that replace it.

    `row_bounds` says what masks by rows leave, as multiples of the loop's step except for `end`; without it
    they are taken to cut every tile.
    Raises `RewriteRefusedError` if a masked score does not just feed a softmax that the loop carries, or the
    loop leaves something else: skipping a tile would then not be the same as computing it.
    """
    masks = [operation for operation in loop.regions[0].blocks[0].operations if operation.name in attn.MASKS]
    if not masks:
        return [loop]
    for mask in masks:
        _check_feeds_running_softmax(mask, loop)
    _check_leaves_nothing_else(loop)
    with ir.InsertionPoint(loop), loop.location:
        bounds = _bounds(loop, masks, row_bounds)
        carried = ForLoop(loop).initial_values
        made = []
        for segment in _segments(bounds):
            if not segment.is_empty:
                made.append(_part(loop, segment, carried))
                carried = list(made[-1].results)
    for result, value in zip(loop.results, carried, strict=True):
        result.replace_all_uses_with(value)
    loop.operation.erase()
    return made


@dataclass(frozen=True)
class _Segment:
    """Some iterations of a loop: those of positions from `first` to `end`, without the ones of a gap."""

    first: b.Size
    end: b.Size
    is_masked: bool
    gap: tuple[b.Size, b.Size] | None = None
    """The first position that is left out, and the next one that is not."""

    @property
    def is_empty(self) -> bool:
        """Whether it is known to have no iteration."""
        if isinstance(self.first, int) and isinstance(self.end, int):
            return self.end <= self.first
        return self.first == self.end


def _segments(bounds: TileBounds) -> list[_Segment]:
    """Return what is seen whole, and what is masked: the code of one loop serves both ends."""
    after_whole = _later(bounds.whole_first, bounds.whole_end)
    leading = _Segment(bounds.first, bounds.whole_first, is_masked=True)
    whole = _Segment(bounds.whole_first, bounds.whole_end, is_masked=False)
    trailing = _Segment(after_whole, bounds.end, is_masked=True)
    if leading.is_empty or whole.is_empty or trailing.is_empty:
        return [leading, whole, trailing]
    gap = (bounds.whole_first, after_whole)
    return [whole, _Segment(bounds.first, bounds.end, is_masked=True, gap=gap)]


def _part(loop: ir.OpView, segment: _Segment, carried: list[ir.Value]) -> ir.OpView:
    """Make a loop over a segment before the whole loop."""
    end, moves = segment.end, None
    if segment.gap is not None:
        gap, next_after = segment.gap
        passed = subtract(next_after, gap)
        end, moves = subtract(end, passed), (as_value(gap), as_value(passed))
    bounds = as_value(segment.first), as_value(end)
    part = loop.operation.clone().opview
    for number, value in enumerate([*bounds, ForLoop(loop).step, *carried]):
        part.operands[number] = value
    if moves is not None:
        _leave_out(ForLoop(part), *moves)
    if not segment.is_masked:
        for operation in list(ForLoop(part).body.operations):
            if operation.name in attn.MASKS:
                _remove_mask(operation)
    return part


def _leave_out(loop: ForLoop, gap: ir.Value, passed: ir.Value) -> None:
    """Let iterations from `gap` on stand so much further."""
    with ir.InsertionPoint.at_block_begin(loop.body):
        is_before = arith.cmpi(arith.CmpIPredicate.slt, loop.position, gap)
        further = arith.addi(loop.position, passed)
        position = arith.select(is_before, loop.position, further)
    makers = [value.owner.operation for value in (is_before, further, position)]
    loop.position.replace_all_uses_except(position, makers)


def _remove_mask(operation: ir.OpView) -> None:
    if RAGGED_TILE in operation.attributes:
        mask = attn.Mask(operation)
        # Of whole tiles none is moved back: each starts where the loop stands.
        start = mask.symbols[0]
        for offset in mask.offsets:
            if offset != start and constant_index(offset) is None:
                offset.replace_all_uses_except(start, [mask.operation.operation])
    operation.results[0].replace_all_uses_with(operation.operands[0])
    operation.operation.erase()


def _bounds(loop: ir.OpView, masks: list[ir.OpView], row_bounds: TileBounds | None) -> TileBounds:
    lower, upper, by = ForLoop(loop).bounds
    start, step = folded(lower), constant_index(by)
    if step is None or not is_multiple(start, step):
        raise RewriteRefusedError(loop, "it does not start at a tile and go on in constant steps")
    length = folded(upper)
    first: b.Size = start
    whole_first: b.Size = start
    end: b.Size = length
    whole_end: b.Size = length
    for operation in masks:
        if RAGGED_TILE in operation.attributes:
            whole_end = minimum(whole_end, round_down(length, step))
            continue
        if operation.name == attn.RowMask.NAME:
            bounds = row_bounds or TileBounds(0, 0, 0, length)
            first = maximum(first, bounds.first)
            whole_first = maximum(whole_first, bounds.whole_first)
            whole_end = minimum(whole_end, bounds.whole_end)
            end = minimum(end, bounds.end)
            continue
        mask = attn.Mask(operation)
        axis = _loop_dimension(mask, ForLoop(loop).position)
        for expression in mask.visible.results:
            form = AffineForm.of(expression)
            is_bound = axis not in {dimension for dimension, _ in form.remainders}
            coefficient = form.dimensions.get(axis, 0) if is_bound else 0
            if coefficient == -1:
                least, most = _extremes(mask, form, axis)
                end = minimum(end, maximum(add(most, 1), 0))
                whole_end = minimum(whole_end, round_down(maximum(add(least, 1), 0), step))
            elif coefficient == 1:
                least, most = (multiply(value, -1) for value in reversed(_extremes(mask, form, axis)))
                first = maximum(first, round_down(maximum(least, 0), step))
                whole_first = maximum(whole_first, round_down(add(maximum(most, 0), step - 1), step))
            else:
                raise RewriteRefusedError(mask.operation, f"{expression} does not bound the loop's position")
    if whole_first != start:
        whole_first = minimum(whole_first, end)
    return TileBounds(first, whole_first, whole_end, end)


def _extremes(mask: attn.Mask, form: AffineForm, axis: int) -> tuple[b.Size, b.Size]:
    """Return the least and the largest value over a tile of an inequality without its loop's dimension.

    Constants that stand in the loop are taken as numbers: what is built here stands before it.
    Remainders count as if the tile had all of them.
    """
    coefficients = {d: c for d, c in form.dimensions.items() if d != axis}
    value: b.Size = form.constant
    slack_down = slack_up = 0
    for dimension, coefficient in coefficients.items():
        value = add(value, multiply(folded(mask.offsets[dimension]), coefficient))
        if dimension in mask.dimensions:
            along = mask.dimensions.index(dimension)
            extent = mask.x.type.shape[along] - 1
            slack_up += max(0, coefficient * extent)
            slack_down += min(0, coefficient * extent)
    for (_, modulus), coefficient in form.remainders.items():
        slack_up += max(0, coefficient * (modulus - 1))
        slack_down += min(0, coefficient * (modulus - 1))
    for symbol, coefficient in form.symbols.items():
        value = add(value, multiply(folded(mask.symbols[symbol]), coefficient))
    return add(value, slack_down), add(value, slack_up)


def _loop_dimension(mask: attn.Mask, position: ir.Value) -> int:
    for dimension, offset in enumerate(mask.offsets):
        if offset == position:
            return dimension
        owner = offset.owner if isinstance(offset, ir.OpResult) else None
        if owner is not None and owner.name == "affine.min" and position in list(owner.operands):
            return dimension
    raise RewriteRefusedError(mask.operation, "its position does not follow the loop")


def _check_leaves_nothing_else(loop: ir.OpView) -> None:
    for value in ForLoop(loop).yielded:
        name = ir.OpResult(value).owner.name if isinstance(value, ir.OpResult) else "a block argument"
        if name not in (*attn.SOFTMAX_NAMES, attn.BatchMatmul.NAME):
            raise RewriteRefusedError(
                loop,
                f"it also yields what {name} makes, of which tiles that are not visited would leave a gap",
            )


def _check_feeds_running_softmax(mask: ir.OpView, loop: ir.OpView) -> None:
    for use in mask.results[0].uses:
        user = use.owner.opview
        if user.name in attn.MASKS or _is_weighted_by_probabilities(user, mask.results[0]):
            continue
        carried = ForLoop(loop).carried
        if user.name not in attn.SOFTMAX_NAMES or attn.Softmax(user).initial_maximum not in carried:
            raise RewriteRefusedError(
                mask, f"it feeds {user.name}, not a softmax whose maximum the loop carries"
            )


def _is_weighted_by_probabilities(user: ir.OpView, value: ir.Value) -> bool:
    """Whether an operation multiplies a value by probabilities: those of a tile that is hidden are all 0."""
    if user.name == "linalg.generic":
        users = [use.owner.opview for use in user.results[0].uses]
        return bool(users) and all(_is_weighted_by_probabilities(each, user.results[0]) for each in users)
    if user.name != attn.BatchMatmul.NAME or attn.BatchMatmul(user).rhs != value:
        return False
    factor = attn.BatchMatmul(user).lhs
    return isinstance(factor, ir.OpResult) and factor.owner.name in attn.SOFTMAX_NAMES


def _later(first: b.Size, second: b.Size) -> b.Size:
    return second if first == 0 else maximum(first, second)

"""Conversion of a lane's value between layouts: register moves, and shuffles where lanes exchange."""

from collections.abc import Sequence
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import arith, gpu, vector

from harness.errors import BuildError
from harness.layouts.conversion import Conversion, Move
from harness.layouts.distribution.lane_value import LaneValue, from_elements
from harness.layouts.layout import Layout

SHUFFLED_BITS = 32

SHUFFLED_FRAGMENTS = 2
"""Vectors that `vector.shuffle` takes elements from."""


def converted(value: LaneValue, wanted: Layout, conversion: Conversion, lane: ir.Value) -> LaneValue:
    """Return a value in another layout; `lane` is the number of the lane, an `index`.

    Raises `BuildError` where warps would have to exchange elements.
    """
    if not conversion.moves:
        raise BuildError(f"a value lies as {value.layout} and is wanted as {wanted}: {conversion.conflict}")
    known: dict[tuple[tuple[Move, ...], ...], ir.Value] = {}
    for row in conversion.moves:
        if row not in known:
            known[row] = _fragment(value, row, lane)
    return LaneValue(wanted, tuple(known[row] for row in conversion.moves))


def _fragment(value: LaneValue, row: tuple[tuple[Move, ...], ...], lane: ir.Value) -> ir.Value:
    """Return the fragment that moves make."""
    if is_whole_fragment(row, value.layout.registers):
        return value.fragments[row[0][0].fragment]
    sources = list(dict.fromkeys(move.fragment for moves in row for move in moves))
    is_near = all(len(moves) == 1 and moves[0].is_within_lanes for moves in row)
    if is_near and len(sources) <= SHUFFLED_FRAGMENTS:
        first, second = value.fragments[sources[0]], value.fragments[sources[-1]]
        start = {sources[-1]: value.layout.registers} | {sources[0]: 0}
        return vector.shuffle(first, second, [start[move.fragment] + move.register for (move,) in row])
    return from_elements([_moved(value, moves, lane) for moves in row])


def is_whole_fragment(row: Sequence[Sequence[Move]], registers: int) -> bool:
    """Return whether a fragment is one of the source, as it is."""
    return (
        len(row) == registers
        and all(len(moves) == 1 and moves[0].is_within_lanes for moves in row)
        and len({moves[0].fragment for moves in row}) == 1
        and [moves[0].register for moves in row] == list(range(registers))
    )


@dataclass(frozen=True)
class _Exchange:
    """A move between lanes in terms of the bits of lane numbers."""

    fixed: int
    """Bits that are the same in all lanes that take the element."""
    values: int
    """What these bits are."""
    origin: int
    """The lane that the element comes from where all other bits are 0."""
    images: tuple[tuple[int, int], ...]
    """For each other bit the difference that it makes to the lane that the element comes from."""


def _moved(value: LaneValue, moves: Sequence[Move], lane: ir.Value) -> ir.Value:
    if len(moves) == 1 and moves[0].is_within_lanes:
        return value.element(moves[0].fragment, moves[0].register)
    result: ir.Value | None = None
    word = ir.IntegerType.get_signless(32)
    number = arith.index_cast(word, lane)
    for move in moves:
        exchange = _exchange(move)
        origin = arith.constant(word, exchange.origin)
        for bit, image in exchange.images:
            digit = arith.andi(arith.shrui(number, arith.constant(word, bit)), arith.constant(word, 1))
            origin = arith.xori(origin, arith.muli(digit, arith.constant(word, image)))
        element = _shuffled(
            value.element(move.fragment, move.register), origin, value.layout.lanes, gpu.ShuffleMode.IDX
        )
        if result is None:
            result = element
            continue
        fixed = arith.andi(number, arith.constant(word, exchange.fixed))
        takes = arith.cmpi(arith.CmpIPredicate.eq, fixed, arith.constant(word, exchange.values))
        result = arith.select(takes, element, result)
    assert result is not None
    return result


def _exchange(move: Move) -> _Exchange:
    """Return a move in terms of bits; raises `BuildError` for one that is no affine map of them."""
    takers = [number for number, source in enumerate(move.source_lanes) if source is not None]
    width = (len(move.source_lanes) - 1).bit_length()
    varying = 0
    for taker in takers:
        varying |= taker ^ takers[0]
    fixed = ((1 << width) - 1) & ~varying
    free = [bit for bit in range(width) if varying >> bit & 1]
    base = takers[0] & fixed
    sources = {taker: source for taker, source in enumerate(move.source_lanes) if source is not None}
    if len(takers) != 1 << len(free) or base not in sources:
        raise BuildError("lanes that take an element are not told apart by bits of their numbers")
    images = tuple((bit, sources[base | 1 << bit] ^ sources[base]) for bit in free)
    for taker, source in sources.items():
        expected = sources[base]
        for bit, image in images:
            expected ^= image if taker >> bit & 1 else 0
        if source != expected:
            raise BuildError("an element comes from lanes that do not follow from bits of the lane's number")
    return _Exchange(fixed, base, sources[base], images)


def shuffled_xor(value: ir.Value, mask: int, lanes: int) -> ir.Value:
    """Return the value of the lane whose number differs in the bits of a mask."""
    offset = arith.constant(ir.IntegerType.get_signless(32), mask)
    return _shuffled(value, offset, lanes, gpu.ShuffleMode.XOR)


def _shuffled(value: ir.Value, lane: ir.Value, lanes: int, mode: gpu.ShuffleMode) -> ir.Value:
    """Return the value of another lane; shuffles take 32 bits."""
    narrow = value.type if value.type.width < SHUFFLED_BITS else None
    wide = arith.extf(ir.F32Type.get(), value) if narrow is not None else value
    width = arith.constant(ir.IntegerType.get_signless(32), lanes)
    result = gpu.ShuffleOp(wide, lane, width, mode).shuffleResult
    return arith.truncf(narrow, result) if narrow is not None else result

"""Conversion of a lane's value between layouts: register moves, and shuffles where lanes exchange."""

from mlir import ir
from mlir.dialects import arith, gpu, vector

from harness.codegen.layouts.conversion import Conversion, Exchange, Move, Row, whole_fragment
from harness.codegen.layouts.distribution.lane_value import LaneValue, from_elements
from harness.codegen.layouts.layout import Layout
from harness.codegen.layouts.linear_map import LinearMap
from harness.system.errors import BuildError

SHUFFLED_BITS = 32

SHUFFLED_FRAGMENTS = 2
"""Vectors that `vector.shuffle` takes elements from."""


def converted(value: LaneValue, wanted: Layout, conversion: Conversion, lane: ir.Value) -> LaneValue:
    """Return a value in another layout; `lane` is the number of the lane, an `index`.

    Raises `BuildError` where warps would have to exchange elements.
    """
    if not conversion.moves:
        raise BuildError(f"a value lies as {value.layout} and is wanted as {wanted}: {conversion.conflict}")
    exchange = conversion.exchange
    exchanged = _ExchangedElements(value, exchange, lane) if exchange is not None else None
    fragments: dict[Row, ir.Value] = {}
    for row in conversion.moves:
        if row in fragments:
            continue
        if exchanged is None:
            fragments[row] = _fragment(value, row)
        else:
            fragments[row] = from_elements([exchanged.element(moves) for moves in row])
    return LaneValue(wanted, tuple(fragments[row] for row in conversion.moves))


def _fragment(value: LaneValue, row: Row) -> ir.Value:
    whole = whole_fragment(row, value.layout.registers)
    if whole is not None:
        return value.fragments[whole]
    sources = list(dict.fromkeys(move.fragment for (move,) in row))
    if len(sources) <= SHUFFLED_FRAGMENTS:
        first, second = value.fragments[sources[0]], value.fragments[sources[-1]]
        start = {sources[-1]: value.layout.registers} | {sources[0]: 0}
        return vector.shuffle(first, second, [start[move.fragment] + move.register for (move,) in row])
    return from_elements([value.element(move.fragment, move.register) for (move,) in row])


class _ExchangedElements:
    """Elements of a value as lanes take them from each other."""

    def __init__(self, value: LaneValue, exchange: Exchange, lane: ir.Value) -> None:
        """Compute what depends on the number of the lane alone."""
        self._value = value
        self._exchange = exchange
        number = arith.index_cast(ir.IntegerType.get_signless(32), lane)
        self._group = _mapped(exchange.group, number)
        self._giver = arith.xori(number, _mapped(exchange.difference, number))
        self._known: dict[tuple[int, int, int], ir.Value] = {}
        self._words: dict[tuple[int, int, int], ir.Value] = {}

    def element(self, moves: tuple[Move, ...]) -> ir.Value:
        """Return an element, of which each group of lanes takes another."""
        result = self._brought(moves[0])
        for move in moves[1:]:
            takes = arith.cmpi(arith.CmpIPredicate.eq, self._group, _word(move.group))
            result = arith.select(takes, self._brought(move), result)
        return result

    def _brought(self, move: Move) -> ir.Value:
        key = (move.fragment, move.register, move.offset)
        if key not in self._known:
            self._known[key] = self._shuffled(move)
        return self._known[key]

    def _shuffled(self, move: Move) -> ir.Value:
        element = self._value.element(move.fragment, move.register)
        if self._exchange.difference.is_zero and not move.offset:
            return element
        in_word = SHUFFLED_BITS // element.type.width
        if in_word == 1 or self._value.layout.registers % in_word:
            return self._from_giver(element, move.offset)
        number, within = divmod(move.register, in_word)
        return vector.extract(self._shuffled_word(move.fragment, number, in_word, move.offset), [], [within])

    def _shuffled_word(self, fragment: int, number: int, elements: int, offset: int) -> ir.Value:
        """Return a word of a fragment, so many elements, as another lane has it."""
        key = (fragment, number, offset)
        if key not in self._words:
            first = number * elements
            held = from_elements(
                [self._value.element(fragment, first + within) for within in range(elements)]
            )
            word = ir.VectorType.get([1], ir.IntegerType.get_signless(SHUFFLED_BITS))
            shuffled = self._from_giver(vector.extract(vector.bitcast(word, held), [], [0]), offset)
            self._words[key] = vector.bitcast(held.type, from_elements([shuffled]))
        return self._words[key]

    def _from_giver(self, value: ir.Value, offset: int) -> ir.Value:
        lanes = self._value.layout.lanes
        if self._exchange.difference.is_zero:
            return shuffled_xor(value, offset, lanes)
        return _shuffled(value, arith.xori(self._giver, _word(offset)), lanes, gpu.ShuffleMode.IDX)


def _mapped(function: LinearMap, number: ir.Value) -> ir.Value:
    result = _word(0)
    for bit, image in enumerate(function.images):
        if image:
            digit = arith.andi(arith.shrui(number, _word(bit)), _word(1))
            result = arith.xori(result, arith.muli(digit, _word(image)))
    return result


def _word(number: int) -> ir.Value:
    return arith.constant(ir.IntegerType.get_signless(32), number)


def shuffled_xor(value: ir.Value, mask: int, lanes: int) -> ir.Value:
    """Return the value of the lane whose number differs in the bits of a mask."""
    return _shuffled(value, _word(mask), lanes, gpu.ShuffleMode.XOR)


def _shuffled(value: ir.Value, lane: ir.Value, lanes: int, mode: gpu.ShuffleMode) -> ir.Value:
    """Return the value of another lane; shuffles take 32 bits."""
    narrow = value.type if value.type.width < SHUFFLED_BITS else None
    wide = arith.extf(ir.F32Type.get(), value) if narrow is not None else value
    result = gpu.ShuffleOp(wide, lane, _word(lanes), mode).shuffleResult
    return arith.truncf(narrow, result) if narrow is not None else result

"""The `matrix-operands` stage: products of 16-bit numbers by a matrix instruction, on operands in pairs.

Payloads widen Q, K and V to f32 first.  A product with an operand that was widened takes it as it was, and
the other one, the probabilities, rounded to the same type.  A matrix instruction multiplies pairs along the
reduction.  K lies so in memory.  Other operands are packed where they are made: Q once for its tile,
probabilities and V once for each tile of keys.  Accumulators stay in registers, which loops carry.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import arith, scf, tensor, vector

from harness.codegen.ir import builder as b
from harness.codegen.ir.constants import constant_of_fill
from harness.codegen.ir.walk import operations_within, producer_of
from harness.codegen.rewrites.ranges import add, as_value
from harness.targets.cpu.chip import RegisterTile
from harness.targets.cpu.lanes import conversions
from harness.targets.cpu.matrix_units import PAIR, MatrixUnit
from harness.targets.cpu.promotion import after
from harness.targets.cpu.register_tiles import divisor, elementwise_tile
from harness.targets.lowering.transforms import run_passes

ROW, LANE, DEPTH = range(3)
"""The loops of a product after the stage `lanes`."""


def take_matrix_operands(module: ir.Module, unit: MatrixUnit, registers: RegisterTile) -> list[str]:
    """Let a unit compute the products of the module that it can, in place; return why it computes no others.

    Products of operands that are no numbers of the unit's type are none of its own, and go without a reason.
    """
    packing = _Packing(unit, registers)
    refusals = []
    structured = [each for each in operations_within(module.operation) if each.name == "linalg.generic"]
    for operation in structured:
        factors = _factors(operation, unit)
        if factors is None:
            continue
        refusal = packing.refusal(factors)
        if refusal is None:
            _multiply(operation, packing, factors)
        else:
            refusals.append(refusal)
    run_passes(module, "canonicalize", "cse")
    return refusals


@dataclass(frozen=True)
class _Factors:
    """What a product multiplies: A of rows and depth, in either order, and B of depth and lanes."""

    left: ir.Value
    right: ir.Value
    left_is_turned: bool
    """Whether A lies with its depth first."""

    @property
    def depth(self) -> int:
        """What is added up for an element."""
        depth: int = self.right.type.shape[0]
        return depth

    @property
    def lanes(self) -> int:
        """Columns of the result."""
        lanes: int = self.right.type.shape[1]
        return lanes

    @property
    def rows(self) -> int:
        """Rows of the result."""
        rows: int = self.left.type.shape[1 if self.left_is_turned else 0]
        return rows


def _factors(operation: ir.OpView, unit: MatrixUnit) -> _Factors | None:
    """Return the factors of a product of the unit's numbers as they were before they were widened."""
    if len(operation.operands) != 3:
        return None
    kinds = [str(kind) for kind in operation.attributes["iterator_types"]]
    if len(kinds) != 3 or "reduction" not in kinds[DEPTH] or "reduction" in "".join(kinds[:DEPTH]):
        return None
    left, right, result = _loops(operation)
    if sorted(left) != [ROW, DEPTH] or right != [DEPTH, LANE] or result != [ROW, LANE]:
        return None
    sources = [_before_widening(operand, unit) for operand in list(operation.operands)[:2]]
    if all(source is None for source in sources):
        return None
    first, second = (
        operation.operands[number] if source is None else source for number, source in enumerate(sources)
    )
    return _Factors(first, second, left_is_turned=left == [DEPTH, ROW])


def _before_widening(value: ir.Value, unit: MatrixUnit) -> ir.Value | None:
    """Return what a tile in f32 was widened from, if it was."""
    producer = producer_of(value)
    if producer is None:
        return None
    (source, _), *_ = [*conversions(producer), (None, None)]
    if source is None or b.dtype_of(source) != unit.operand or _loops(producer) != [[0, 1], [0, 1]]:
        return None
    return source


def _loops(operation: ir.OpView) -> list[list[int]]:
    maps = [ir.AffineMapAttr(mapping).value for mapping in operation.attributes["indexing_maps"]]
    return [[ir.AffineDimExpr(result).position for result in mapping.results] for mapping in maps]


@dataclass
class _Pairs:
    """A tile in pairs along its depth."""

    tile: ir.Value
    lies_in_rows: bool
    """Whether pairs are neighbours in rows of 16-bit numbers, else integers, a row for each two."""

    def of_row(self, row: b.Size, pair: ir.Value) -> ir.Value:
        """Return one pair of a row as an integer."""
        if not self.lies_in_rows:
            return tensor.extract(self.tile, [pair, as_value(row)])
        kind = ir.VectorType.get([PAIR], self.tile.type.element_type)
        column = b.affine_value(lambda number: number * PAIR, pair)
        numbers = read(kind, self.tile, [row, column])
        return vector.extract(vector.bitcast(integers(1), numbers), [], [0])


class _Packing:
    """Tiles in pairs, each made once, and how a unit wants them."""

    def __init__(self, unit: MatrixUnit, registers: RegisterTile) -> None:
        self.unit = unit
        self.registers = registers
        self.packed: dict[ir.Value, ir.Value] = {}

    def refusal(self, factors: _Factors) -> str | None:
        """Return why the unit does not compute a product, or None."""
        if factors.depth % self.unit.k:
            return f"sums of {factors.depth} products, no multiple of {self.unit.k}"
        if factors.lanes % self.unit.n:
            return f"rows of {factors.lanes} results, no multiple of {self.unit.n}"
        if factors.rows == 1:
            return "one query, for which packing V takes longer"
        return None

    def left(self, factors: _Factors) -> _Pairs:
        """Return A in pairs: as it lies, or packed where a row for each number of the depth lies there."""
        if factors.left_is_turned:
            return _Pairs(self.pack(factors.left), lies_in_rows=False)
        return _Pairs(self._narrowed(factors.left), lies_in_rows=True)

    def pack(self, source: ir.Value) -> ir.Value:
        """Return a tile of integers, each a pair of numbers that lie below each other in a tile."""
        if source not in self.packed:
            with after(source), ir.Location.unknown():
                self.packed[source] = self._pack(source)
        return self.packed[source]

    def _narrowed(self, tile: ir.Value) -> ir.Value:
        if b.dtype_of(tile) == self.unit.operand:
            return tile
        if tile not in self.packed:
            with after(tile), ir.Location.unknown():
                self.packed[tile] = b.elementwise(
                    tile, lambda element: b.narrow(element, self.unit.operand), self.unit.operand
                )
        return self.packed[tile]

    def _pack(self, source: ir.Value) -> ir.Value:
        depth, width = source.type.shape
        is_wide = b.dtype_of(source) == self.unit.accumulator
        if is_wide and width % self.unit.n:
            source, is_wide = self._narrowed(source), False
        rows = elementwise_tile(source.type.shape, self.registers)[0] if is_wide else PAIR
        if rows % PAIR:
            rows = PAIR
        place = tensor.empty([depth // PAIR, width], ir.IntegerType.get_signless(32))
        loop = scf.ForOp(b.index(0), b.index(depth), b.index(rows), [place])
        with ir.InsertionPoint(loop.body):
            (packed,) = loop.inner_iter_args
            kind = ir.VectorType.get([rows, width], source.type.element_type)
            taken = read(kind, source, [loop.induction_variable, 0])
            first = b.affine_value(
                lambda row: ir.AffineExpr.get_floor_div(row, PAIR), loop.induction_variable
            )
            for number in range(rows // PAIR):
                even, odd = (vector.extract(taken, [], [PAIR * number + half]) for half in range(PAIR))
                for column, pairs in self._pairs(even, odd, is_wide=is_wide):
                    packed = write(pairs, packed, [add(first, number), column])
            scf.YieldOp([packed])
        return loop.results[0]

    def _pairs(self, even: ir.Value, odd: ir.Value, *, is_wide: bool) -> Sequence[tuple[int, ir.Value]]:
        """Return the pairs of two rows, in parts, and where each part begins."""
        if not is_wide:
            return [(0, joined_bits(even, odd))]
        length = self.unit.n
        return [
            (start, self.unit.pair(part_of(even, start, length), part_of(odd, start, length)))
            for start in range(0, even.type.shape[0], length)
        ]


def _multiply(product: ir.OpView, packing: _Packing, factors: _Factors) -> None:
    """Write a product as loops over blocks of accumulators and, inside, over pairs of the depth."""
    registers = packing.registers
    left, right = packing.left(factors), packing.pack(factors.right)
    rows = divisor(factors.rows, registers.contraction_rows)
    lanes = registers.contraction_lanes(factors.lanes, rows)
    initial = product.operands[2]
    is_zero = constant_of_fill(initial) == 0.0
    with ir.InsertionPoint(product), product.location:
        place = ir.OpResult(initial).owner.operands[1] if is_zero else initial
        columns = scf.ForOp(b.index(0), b.index(factors.lanes), b.index(lanes), [place])
        with ir.InsertionPoint(columns.body):
            (of_columns,) = columns.inner_iter_args
            bands = scf.ForOp(b.index(0), b.index(factors.rows), b.index(rows), [of_columns])
            with ir.InsertionPoint(bands.body):
                block = _Block(
                    packing.unit, bands.induction_variable, columns.induction_variable, rows, lanes
                )
                start = block.zeros() if is_zero else block.read(bands.inner_iter_args[0])
                sums = block.summed(start, left, right, factors.depth)
                scf.YieldOp([block.written(sums, bands.inner_iter_args[0])])
            scf.YieldOp([bands.results[0]])
    product.results[0].replace_all_uses_with(columns.results[0])
    product.operation.erase()


@dataclass(frozen=True)
class _Block:
    """Accumulators of some rows and columns of a result, in vectors."""

    unit: MatrixUnit
    row: ir.Value
    """The first row."""
    column: ir.Value
    """The first column."""
    rows: int
    lanes: int

    @property
    def kind(self) -> ir.VectorType:
        """The type of one vector."""
        return ir.VectorType.get([self.unit.n], b.element_type(self.unit.accumulator))

    @property
    def columns(self) -> list[b.Size]:
        """Where each vector of a row begins."""
        return [add(self.column, start) for start in range(0, self.lanes, self.unit.n)]

    def zeros(self) -> list[ir.Value]:
        """Return accumulators without anything."""
        zero = ir.FloatAttr.get(self.kind.element_type, 0.0)
        vectors = self.rows * len(self.columns)
        return [arith.constant(self.kind, ir.DenseElementsAttr.get_splat(self.kind, zero))] * vectors

    def read(self, tile: ir.Value) -> list[ir.Value]:
        """Return what a tile has there."""
        places = [(row, column) for row in range(self.rows) for column in self.columns]
        return [read(self.kind, tile, [add(self.row, row), column]) for row, column in places]

    def written(self, sums: Sequence[ir.Value], tile: ir.Value) -> ir.Value:
        """Return a tile that has the accumulators there."""
        places = [(row, column) for row in range(self.rows) for column in self.columns]
        for accumulator, (row, column) in zip(sums, places, strict=True):
            tile = write(accumulator, tile, [add(self.row, row), column])
        return tile

    def summed(
        self, sums: Sequence[ir.Value], left: _Pairs, right: ir.Value, depth: int
    ) -> Sequence[ir.Value]:
        """Return accumulators with the products of all pairs of the depth added, in a loop over these."""
        loop = scf.ForOp(b.index(0), b.index(depth // PAIR), b.index(1), list(sums))
        with ir.InsertionPoint(loop.body):
            pair = loop.induction_variable
            factors = [read(integers(self.unit.n), right, [pair, column]) for column in self.columns]
            added = iter(list(loop.inner_iter_args))
            scf.YieldOp(
                [
                    self.unit.multiply(next(added), spread, factor)
                    for spread in self._spread(left, pair)
                    for factor in factors
                ]
            )
        return list(loop.results)

    def _spread(self, left: _Pairs, pair: ir.Value) -> Sequence[ir.Value]:
        rows = [left.of_row(add(self.row, row), pair) for row in range(self.rows)]
        return [vector.broadcast(integers(self.unit.n), number) for number in rows]


def integers(length: int) -> ir.VectorType:
    """Return the type of a vector of pairs."""
    return ir.VectorType.get([length], ir.IntegerType.get_signless(32))


def joined_bits(even: ir.Value, odd: ir.Value) -> ir.Value:
    """Return vectors of 16-bit numbers as one of 32-bit integers, the even one in the low bits."""
    shape, wide = even.type.shape, integers(even.type.shape[0])
    bits = ir.VectorType.get(shape, ir.IntegerType.get_signless(16))
    low, high = (arith.extui(wide, arith.bitcast(bits, half)) for half in (even, odd))
    shift = ir.DenseElementsAttr.get_splat(wide, ir.IntegerAttr.get(wide.element_type, 16))
    return arith.ori(low, arith.shli(high, arith.constant(wide, shift)))


def part_of(row: ir.Value, start: int, length: int) -> ir.Value:
    """Return a part of a vector."""
    if row.type.shape[0] == length:
        return row
    kind = ir.VectorType.get([length], row.type.element_type)
    return vector.extract_strided_slice(kind, row, [start], [length], [1])


def read(kind: ir.VectorType, tile: ir.Value, position: Sequence[b.Size]) -> ir.Value:
    """Return a vector of a tile's last axes that begins at a position; it lies inside."""
    nothing = b.zero(str(kind.element_type))
    places = [as_value(place) for place in position]
    mapping = ir.AffineMap.get_minor_identity(tile.type.rank, kind.rank)
    return vector.TransferReadOp(kind, tile, places, mapping, nothing, [True] * kind.rank).result


def write(value: ir.Value, tile: ir.Value, position: Sequence[b.Size]) -> ir.Value:
    """Return a tile with a vector at a position along its last axes; it lies inside."""
    places = [as_value(place) for place in position]
    mapping = ir.AffineMap.get_minor_identity(tile.type.rank, value.type.rank)
    inside = [True] * value.type.rank
    return vector.TransferWriteOp(tile.type, value, tile, places, mapping, in_bounds=inside).result

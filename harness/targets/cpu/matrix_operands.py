"""The `matrix-operands` stage: products of 16-bit numbers by a matrix instruction, on operands in pairs.

Payloads widen Q, K and V to f32 first.  A product takes them as they were, and what was computed, such as
probabilities, rounded to the same type.  A matrix instruction multiplies pairs along the reduction.  K lies
so in memory.  Other operands are packed where they are made: Q once for its tile, probabilities and V once
for each tile of keys.  Accumulators stay in registers, which loops carry.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import arith, scf, vector

from harness.codegen.ir import builder as b
from harness.codegen.ir.constants import constant_of_fill
from harness.codegen.ir.walk import operations_within, producer_of
from harness.codegen.rewrites.ranges import add
from harness.targets.cpu.chip import RegisterTile
from harness.targets.cpu.lanes import conversions
from harness.targets.cpu.matrix_units import MatrixUnit
from harness.targets.cpu.operand_pairs import PAIR, Instructions, Pairs, integers, read, write
from harness.targets.cpu.pair_instructions import LANES, rounded_pairs
from harness.targets.cpu.promotion import after
from harness.targets.cpu.register_tiles import divisor, elementwise_tile
from harness.targets.lowering.transforms import run_passes

PRODUCT = ["arith.mulf", "arith.addf", "linalg.yield"]
"""What the body of a product consists of."""
ROW, LANE, DEPTH = range(3)
"""The loops of a product after the stage `lanes`."""


def take_matrix_operands(module: ir.Module, unit: MatrixUnit, registers: RegisterTile) -> list[str]:
    """Let a unit compute the products of a module, in place; return why it does not compute some."""
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
    """Return the factors of a product, as they were where they were widened; None for no product."""
    body = [each.name for each in operation.regions[0].blocks[0].operations]
    if len(operation.operands) != 3 or body != PRODUCT:
        return None
    kinds = [str(kind) for kind in operation.attributes["iterator_types"]]
    if len(kinds) != 3 or "reduction" not in kinds[DEPTH] or "reduction" in "".join(kinds[:DEPTH]):
        return None
    left, right, result = _loops(operation)
    if sorted(left) != [ROW, DEPTH] or right != [DEPTH, LANE] or result != [ROW, LANE]:
        return None
    first, second = (_before_widening(operand, unit) for operand in list(operation.operands)[:2])
    return _Factors(first, second, left_is_turned=left == [DEPTH, ROW])


def _before_widening(value: ir.Value, unit: MatrixUnit) -> ir.Value:
    """Return what a tile was widened from, itself where it was not."""
    producer = producer_of(value)
    for source, _ in conversions(producer) if producer is not None else ():
        if b.dtype_of(source) == unit.dtype == unit.operand and _loops(producer) == [[0, 1], [0, 1]]:
            return source
    return value


def _loops(operation: ir.OpView) -> list[list[int]]:
    maps = [ir.AffineMapAttr(mapping).value for mapping in operation.attributes["indexing_maps"]]
    return [[ir.AffineDimExpr(result).position for result in mapping.results] for mapping in maps]


class _Packing:
    """Tiles in pairs, each made once, and how a unit wants them."""

    def __init__(self, unit: MatrixUnit, registers: RegisterTile) -> None:
        self.unit = unit
        self.instructions = unit.instructions()
        self.registers = registers
        self.made: dict[tuple[str, ir.Value], ir.Value] = {}

    def refusal(self, factors: _Factors) -> str | None:
        """Return why the unit does not compute a product, or None."""
        if factors.rows == 1:
            return "one query, for which packing V takes longer"
        parts = (
            (f"sums of {factors.depth} products", factors.depth, self.unit.k),
            (f"rows of {factors.lanes} results", factors.lanes, self.unit.n),
            (f"{factors.rows} rows of results", factors.rows, self.unit.m),
        )
        return next((f"{what}, no multiple of {part}" for what, size, part in parts if size % part), None)

    def products(self, factors: _Factors) -> Sequence[tuple[Pairs, ir.Value]]:
        """Return A and B in pairs: for each product of their terms that counts."""
        lefts, rights = self._terms(factors.left), self._terms(factors.right)
        return [
            (self._left(left, is_turned=factors.left_is_turned), self._once("packed", right, self._pack))
            for number, left in enumerate(lefts)
            for right in rights[: self.unit.terms - number]
        ]

    def _left(self, tile: ir.Value, *, is_turned: bool) -> Pairs:
        """Return A in pairs: as it lies, or packed where it lies with its depth first."""
        if not is_turned:
            return Pairs(self._narrowed(tile), depth_first=False)
        packed = self._once("packed", tile, self._pack)
        if not self.instructions.takes_rows:
            return Pairs(packed, depth_first=True)
        return Pairs(self._once("turned", packed, _turned), depth_first=False)

    def _terms(self, tile: ir.Value) -> list[ir.Value]:
        """Return tiles whose sum one is as exactly as they are rounded: each is what rounding leaves."""
        terms = [tile]
        while len(terms) < self.unit.terms:
            terms.append(self._once("rest", terms[-1], self._rest))
        return terms

    def _rest(self, tile: ir.Value) -> ir.Value:
        def rest(element: ir.Value) -> ir.Value:
            return arith.subf(element, b.widen(b.narrow(element, self.unit.operand)))

        return b.elementwise(tile, rest)

    def _once(self, what: str, tile: ir.Value, make: Callable[[ir.Value], ir.Value]) -> ir.Value:
        """Return what is made of a tile, once, where the tile is made."""
        if (what, tile) not in self.made:
            with after(tile), ir.Location.unknown():
                self.made[what, tile] = make(tile)
        return self.made[what, tile]

    def block(self, factors: _Factors) -> tuple[int, int]:
        """Return how many rows and columns of the result registers hold at once."""
        if self.unit.accumulators is None:
            rows = divisor(factors.rows, self.registers.contraction_rows)
            return rows, self.registers.contraction_lanes(factors.lanes, rows)
        sizes = zip(
            (factors.rows, factors.lanes), (self.unit.m, self.unit.n), self.unit.accumulators, strict=True
        )
        rows, lanes = (part * divisor(size // part, most) for size, part, most in sizes)
        return rows, lanes

    def _narrowed(self, tile: ir.Value) -> ir.Value:
        if b.dtype_of(tile) == self.unit.operand:
            return tile

        def narrow(wide: ir.Value) -> ir.Value:
            dtype = self.unit.operand
            return b.elementwise(wide, lambda element: b.narrow(element, dtype), dtype)

        return self._once("narrowed", tile, narrow)

    def _pack(self, source: ir.Value) -> ir.Value:
        depth, width = source.type.shape
        is_wide = b.dtype_of(source) == self.unit.accumulator
        if is_wide and width % LANES:
            source, is_wide = self._narrowed(source), False
        rows = elementwise_tile(source.type.shape, self.registers)[0] if is_wide else PAIR
        if rows % PAIR:
            rows = PAIR
        place = b.empty([depth // PAIR, width], "i32")
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
        return [
            (start, rounded_pairs(part_of(even, start, LANES), part_of(odd, start, LANES)))
            for start in range(0, even.type.shape[0], LANES)
        ]


def _multiply(product: ir.OpView, packing: _Packing, factors: _Factors) -> None:
    """Write a product as loops over blocks of accumulators and, inside, over the depth."""
    products = packing.products(factors)
    rows, lanes = packing.block(factors)
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
                    packing.unit,
                    packing.instructions,
                    [add(bands.induction_variable, row) for row in range(0, rows, packing.unit.m)],
                    [add(columns.induction_variable, lane) for lane in range(0, lanes, packing.unit.n)],
                )
                (tile,) = bands.inner_iter_args
                start = block.zeros() if is_zero else block.read(tile)
                sums = block.summed(start, products, factors.depth)
                scf.YieldOp([block.written(sums, tile)])
            scf.YieldOp([bands.results[0]])
    product.results[0].replace_all_uses_with(columns.results[0])
    product.operation.erase()


@dataclass(frozen=True)
class _Block:
    """Accumulators of some rows and columns of a result."""

    unit: MatrixUnit
    instructions: Instructions
    rows: Sequence[b.Size]
    """Where those of each row begin."""
    columns: Sequence[b.Size]

    @property
    def places(self) -> list[tuple[b.Size, b.Size]]:
        """Where each accumulator begins."""
        return [(row, column) for row in self.rows for column in self.columns]

    def zeros(self) -> list[ir.Value]:
        """Return accumulators without anything."""
        return [self.instructions.zero() for _ in self.places]

    def read(self, tile: ir.Value) -> list[ir.Value]:
        """Return what a tile has there."""
        return [self.instructions.read(tile, place) for place in self.places]

    def written(self, sums: Sequence[ir.Value], tile: ir.Value) -> ir.Value:
        """Return a tile that has the accumulators there."""
        for accumulator, place in zip(sums, self.places, strict=True):
            tile = self.instructions.written(accumulator, tile, place)
        return tile

    def summed(
        self, sums: Sequence[ir.Value], products: Sequence[tuple[Pairs, ir.Value]], depth: int
    ) -> Sequence[ir.Value]:
        """Return accumulators with all products of the depth added, in a loop over its parts."""
        step = self.unit.k // PAIR
        loop = scf.ForOp(b.index(0), b.index(depth // PAIR), b.index(step), list(sums))
        with ir.InsertionPoint(loop.body):
            added = list(loop.inner_iter_args)
            for left, right in products:
                added = self._with_product(added, left, right, loop.induction_variable)
            scf.YieldOp(added)
        return list(loop.results)

    def _with_product(
        self, sums: Sequence[ir.Value], left: Pairs, right: ir.Value, pair: ir.Value
    ) -> list[ir.Value]:
        write = self.instructions
        of_columns = [write.right(right, pair, column) for column in self.columns]
        of_rows = [write.left(left, row, pair) for row in self.rows]
        factors = [(row, column) for row in of_rows for column in of_columns]
        return [write.multiplied(accumulator, *both) for accumulator, both in zip(sums, factors, strict=True)]


def _turned(packed: ir.Value) -> ir.Value:
    place = b.empty([packed.type.shape[1], packed.type.shape[0]], "i32")
    return b.structured("kr->rk", [packed], place, lambda pair: pair)


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

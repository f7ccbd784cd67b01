"""The stage `inner-tiled`: a loop over tiles of keys that carries maximum, sum and output of rows.

MLIR has no pass that tiles a softmax's reduction: Lighthouse, too, replaces the payload by the loop.  The
loop has the form that MLIR's passes for XeGPU distribute: all values have the rows of the workgroup and 16
columns.  Maximum and sum of a row stand in each of its 16 columns, as the passes refuse a value of one
dimension that a loop carries ("unresolved materialization").  What is reduced has 16 columns, as
wider reductions stay undistributed, and its accumulator is a constant.
"""

import math as numbers
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from mlir import ir
from mlir.dialects import arith, math, memref, scf, vector

from harness.codegen.ir.builder import affine_value, index
from harness.codegen.ir.walk import operations_within, producer_of
from harness.system.errors import UnsupportedError
from harness.targets.xegpu.workgroup_route.masks import MASKED
from harness.targets.xegpu.workgroup_route.tiles import COLUMNS, RouteTiles

LOWEST = -1e30
"""What a running maximum begins with: less than any score, and finite, so that differences are numbers."""
LEAST_TOTAL = 1e-30
"""What the output is at least divided by: a row whose scores are all minus infinity gives 0."""


QUERY_COORDINATE = 3
"""Operand of a read of Q that says from which query on, behind the buffer, batch and head."""
CONTRACT, READ, WRITE = "vector.contract", "vector.transfer_read", "vector.transfer_write"


def tile_keys(function: ir.OpView, tiles: RouteTiles) -> None:
    """Replace a kernel's attention over all keys by a loop over their tiles, in place."""
    untiled_keys = _UntiledKeys.of(function)
    with ir.InsertionPoint(untiled_keys.output), untiled_keys.output.location:
        _Emission(untiled_keys, tiles).emit()
    untiled_keys.output.operation.erase()
    _erase_dead(function)


@dataclass(frozen=True)
class _UntiledKeys:
    """The reads of Q, K and V, the write of the output, and what scores are multiplied with."""

    query: ir.OpView
    key: ir.OpView
    value: ir.OpView
    output: ir.OpView
    scale: float

    @classmethod
    def of(cls, function: ir.OpView) -> "_UntiledKeys":
        """Find them in a kernel; raises `UnsupportedError` where it computes something else."""
        products = [operation for operation in operations_within(function) if operation.name == CONTRACT]
        writes = [operation for operation in operations_within(function) if operation.name == WRITE]
        if len(products) != 2 or len(writes) != 1:
            raise UnsupportedError("expected a kernel of two products, and one write of what it computes")
        scores, result = products
        scale, scaled = _scale(scores)
        if not any(_is_maximum(user) for user in _users(scaled)):
            raise UnsupportedError("expected the softmax of scores that are scaled and nothing else")
        return cls(_read(scores, 0), _read(scores, 1), _read(result, 1), writes[0], scale)


@dataclass(frozen=True)
class _Matrix:
    """All rows of a buffer, one below the other, from the row on where a read or a write begins."""

    buffer: ir.Value
    row: ir.Value
    columns: int

    @classmethod
    def of(cls, transfer: ir.OpView, first: int) -> "_Matrix":
        """Return the matrix of a transfer whose buffer is the operand before `first`, its first index."""
        operands = list(transfer.operands)
        buffer = operands[first - 1]
        kind = ir.MemRefType(buffer.type)
        *outer, columns = kind.shape
        matrix = ir.MemRefType.get([numbers.prod(outer), columns], kind.element_type)
        flat = memref.collapse_shape(matrix, buffer, [list(range(len(outer))), [len(outer)]])

        def number(first_axis: ir.AffineExpr, *others: ir.AffineExpr) -> ir.AffineExpr:
            row = first_axis
            for coordinate, size in zip(others, outer[1:], strict=True):
                row = row * size + coordinate
            return row

        return cls(flat, affine_value(number, *operands[first : first + len(outer)]), columns)

    def below(self, position: ir.Value) -> ir.Value:
        """Return the number of a row."""
        return arith.addi(self.row, position)

    def read(self, row: ir.Value, column: int, rows: int) -> ir.Value:
        """Return a chunk of 16 columns."""
        element = ir.MemRefType(self.buffer.type).element_type
        return vector.transfer_read(
            ir.VectorType.get([rows, COLUMNS], element),
            self.buffer,
            [row, index(column)],
            ir.AffineMap.get_identity(2),
            arith.constant(element, 0.0),
            [True, True],
        )

    def write(self, value: ir.Value, column: int) -> None:
        """Store a chunk of 16 columns."""
        identity = ir.AffineMap.get_identity(2)
        vector.transfer_write(None, value, self.buffer, [self.row, index(column)], identity, [True, True])


class _Emission:
    """Emits the loop where the kernel writes its output."""

    def __init__(self, untiled_keys: _UntiledKeys, tiles: RouteTiles) -> None:
        self._untiled_keys = untiled_keys
        self._tiles = tiles
        self._query = _Matrix.of(untiled_keys.query, 1)
        self._key = _Matrix.of(untiled_keys.key, 1)
        self._value = _Matrix.of(untiled_keys.value, 1)
        self._output = _Matrix.of(untiled_keys.output, 2)
        self._element = ir.MemRefType(self._query.buffer.type).element_type
        self._float = ir.F32Type.get()
        self._factor = untiled_keys.scale * numbers.log2(numbers.e)

    def emit(self) -> None:
        """Emit the loop, and what stands before and behind it."""
        tiles, rows = self._tiles, self._tiles.rows
        query = [self._query.read(self._query.row, column, rows) for column in self._chunks(self._query)]
        zero, lowest = self._splat(0.0), self._splat(LOWEST)
        state = [lowest, zero, *[zero] * len(self._chunks(self._value))]
        last = index(tiles.all_keys - tiles.keys)
        if tiles.is_causal:
            state = self._loop(index(0), self._seen_end(), query, state, last)
        else:
            whole_end = tiles.all_keys // tiles.keys * tiles.keys
            state = self._loop(index(0), index(whole_end), query, state)
            if tiles.is_cut:
                state = self._step(last, query, state, is_masked=True)
        _, total, *output = state
        self._finish(arith.addf(total, zero), output)

    def _seen_end(self) -> ir.Value:
        """Return where the last tile ends of those that some query of the workgroup sees."""
        tiles, first = self._tiles, self._untiled_keys.query.operands[QUERY_COORDINATE]
        keys = tiles.keys
        end, shift = -(-tiles.all_keys // keys) * keys, tiles.shift + tiles.rows + keys - 1
        seen = affine_value(lambda row: ir.AffineExpr.get_floor_div(row + shift, keys) * keys, first)
        return arith.maxsi(index(0), arith.minsi(seen, index(end)))

    def _loop(
        self,
        start: ir.Value,
        end: ir.Value,
        query: Sequence[ir.Value],
        state: Sequence[ir.Value],
        last: ir.Value | None = None,
    ) -> list[ir.Value]:
        """Emit a loop over tiles, none of which begins behind the `last` place; return what it carries."""
        loop = scf.ForOp(start, end, index(self._tiles.keys), state)
        with ir.InsertionPoint(loop.body):
            position = loop.induction_variable
            if last is not None:
                position = arith.minui(position, last)
            carried = list(loop.inner_iter_args)
            scf.YieldOp(self._step(position, query, carried, is_masked=last is not None))
        return list(loop.results)

    def _step(
        self,
        position: ir.Value,
        query: Sequence[ir.Value],
        state: Sequence[ir.Value],
        *,
        is_masked: bool = False,
    ) -> list[ir.Value]:
        maximum, total, *output = state
        starts = range(0, self._tiles.keys, COLUMNS)
        key_rows = [arith.addi(self._key.below(position), index(start)) for start in starts]
        value_rows = [arith.addi(self._value.below(position), index(start)) for start in starts]
        scores = [
            self._scores(query, row, start if is_masked else None)
            for row, start in zip(key_rows, starts, strict=True)
        ]
        highest = arith.maximumf(maximum, self._of_rows("maximumf", reduce(arith.maximumf, scores), LOWEST))
        decay = math.exp2(arith.subf(maximum, highest))
        weights = [math.exp2(arith.subf(chunk, highest)) for chunk in scores]
        total = arith.addf(arith.mulf(total, decay), reduce(arith.addf, weights))
        operands = [arith.truncf(self._chunk(self._element), weight) for weight in weights]
        columns = self._chunks(self._value)
        return [
            highest,
            total,
            *[
                self._weighted(operands, value_rows, column, arith.mulf(sums, decay))
                for column, sums in zip(columns, output, strict=True)
            ],
        ]

    def _scores(self, query: Sequence[ir.Value], row: ir.Value, masked_from: int | None) -> ir.Value:
        """Return the scores of 16 keys, in units of the exponent, marked where they are to be masked."""
        scores = self._splat(0.0)
        for column, part in zip(self._chunks(self._key), query, strict=True):
            keys = self._key.read(row, column, COLUMNS)
            scores = _product(part, vector.transpose(keys.type, keys, [1, 0]), scores)
        scaled: ir.Value = arith.mulf(scores, self._splat(self._factor))
        if masked_from is not None:
            number = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), masked_from)
            scaled.owner.attributes[MASKED] = number
        return scaled

    def _weighted(
        self, weights: Sequence[ir.Value], rows: Sequence[ir.Value], column: int, sums: ir.Value
    ) -> ir.Value:
        """Return sums to which 16 columns of V are added, each row with its weight."""
        for weight, row in zip(weights, rows, strict=True):
            sums = _product(weight, self._value.read(row, column, COLUMNS), sums)
        return sums

    def _finish(self, total: ir.Value, output: Sequence[ir.Value]) -> None:
        divisor = arith.maximumf(self._of_rows("add", total, 0.0), self._splat(LEAST_TOTAL))
        for column, sums in zip(self._chunks(self._output), output, strict=True):
            self._output.write(arith.truncf(self._chunk(self._element), arith.divf(sums, divisor)), column)

    def _of_rows(self, kind: str, chunk: ir.Value, neutral: float) -> ir.Value:
        """Return a chunk that has in all columns of a row what the row is reduced to."""
        rows = self._tiles.rows
        of_rows = ir.VectorType.get([rows], self._float)
        reduced = vector.multi_reduction(
            ir.Attribute.parse(f"#vector.kind<{kind}>"), chunk, _splat(of_rows, neutral), [1]
        )
        broad = vector.broadcast(ir.VectorType.get([COLUMNS, rows], self._float), reduced)
        return vector.transpose(chunk.type, broad, [1, 0])

    def _chunks(self, matrix: _Matrix) -> range:
        return range(0, matrix.columns, COLUMNS)

    def _chunk(self, element: ir.Type) -> ir.VectorType:
        return ir.VectorType.get([self._tiles.rows, COLUMNS], element)

    def _splat(self, number: float) -> ir.Value:
        return _splat(self._chunk(self._float), number)


def _splat(kind: ir.VectorType, number: float) -> ir.Value:
    value = ir.DenseElementsAttr.get_splat(kind, ir.FloatAttr.get(kind.element_type, number))
    return arith.constant(kind, value)


def _product(left: ir.Value, right: ir.Value, sums: ir.Value) -> ir.Value:
    row, column, depth = (ir.AffineDimExpr.get(position) for position in range(3))
    maps = [[row, depth], [depth, column], [row, column]]
    iterators = ("parallel", "parallel", "reduction")
    return vector.contract(
        sums.type,
        left,
        right,
        sums,
        ir.ArrayAttr.get([ir.AffineMapAttr.get(ir.AffineMap.get(3, 0, map_)) for map_ in maps]),
        ir.ArrayAttr.get([ir.Attribute.parse(f"#vector.iterator_type<{kind}>") for kind in iterators]),
    )


def _erase_dead(function: ir.OpView) -> None:
    """Erase what only the replaced attention used."""
    for operation in reversed(list(operations_within(function))):
        is_value = operation.name.startswith(("arith.", "math.", "vector.")) and operation.name != WRITE
        if is_value and not any(list(result.uses) for result in operation.results):
            operation.operation.erase()


def _read(product: ir.OpView, operand: int) -> ir.OpView:
    producer = producer_of(product.operands[operand])
    if producer is None or producer.name != READ:
        raise UnsupportedError("expected products of what is read from memory as it is")
    return producer


def _scale(scores: ir.OpView) -> tuple[float, ir.Value]:
    """Return what scores are multiplied with before the softmax, and the product."""
    users = _users(scores.results[0])
    if len(users) == 1 and users[0].name == "arith.mulf":
        factor = producer_of(users[0].operands[1])
        if factor is not None and factor.name == "arith.constant":
            splat = ir.DenseFPElementsAttr(factor.attributes["value"]).get_splat_value()
            return ir.FloatAttr(splat).value, users[0].results[0]
    return 1.0, scores.results[0]


def _is_maximum(operation: ir.OpView) -> bool:
    return operation.name == "vector.multi_reduction" and "maximumf" in str(operation.attributes["kind"])


def _users(value: ir.Value) -> list[ir.OpView]:
    return [use.owner.opview for use in value.uses]

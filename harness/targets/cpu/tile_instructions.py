"""AMX's instructions: products of tiles, which are loaded and stored row by row.

On tensors a tile is a vector of two dimensions, cast to its type: loops carry tiles.  Once tensors are memory
`load_tiles` turns what is read and cast into loads of tiles, and what is cast and written into stores.
"""

from collections.abc import Sequence

from mlir import ir

from harness.codegen.ir import builder as b
from harness.codegen.ir.walk import operations_within, producer_of
from harness.targets.cpu.operand_pairs import PAIR, Pairs, floats, integers, read, write
from harness.targets.lowering.transforms import run_passes

ROWS = 16
"""Of a tile."""
COLUMNS = 16
"""Elements of 32 bits in a row of a tile."""

ZERO, LOAD, STORE, MULTIPLY = (f"amx.tile_{name}" for name in ("zero", "load", "store", "mulf"))
CAST = "builtin.unrealized_conversion_cast"


class TileInstructions:
    """`tdpbf16ps`: a tile of 16 rows of A times one of 16 columns of B, each with 16 pairs."""

    takes_rows = True

    def zero(self) -> ir.Value:
        """Build a tile of 0."""
        return ir.Operation.create(ZERO, [_sums()]).results[0]

    def read(self, tile: ir.Value, position: Sequence[b.Size]) -> ir.Value:
        """Build a tile of sums."""
        return _cast(_sums(), read(floats(ROWS, COLUMNS), tile, position))

    def written(self, value: ir.Value, tile: ir.Value, position: Sequence[b.Size]) -> ir.Value:
        """Build what has a tile of sums as a part."""
        return write(_cast(floats(ROWS, COLUMNS), value), tile, position)

    def left(self, factor: Pairs, row: b.Size, pair: ir.Value) -> ir.Value:
        """Build a tile of rows of pairs."""
        bf16 = ir.VectorType.get([ROWS, PAIR * COLUMNS], ir.BF16Type.get())
        kind = integers(ROWS, COLUMNS) if factor.is_packed else bf16
        return _cast(_pairs(), read(kind, factor.tile, factor.position(row, pair)))

    def right(self, factor: ir.Value, pair: ir.Value, column: b.Size) -> ir.Value:
        """Build a tile with a row for each pair."""
        return _cast(_pairs(), read(integers(ROWS, COLUMNS), factor, [pair, column]))

    def multiplied(self, accumulator: ir.Value, left: ir.Value, right: ir.Value) -> ir.Value:
        """Build C + A·B: subnormal numbers count as 0, and each sum is rounded to nearest."""
        return ir.Operation.create(MULTIPLY, [accumulator.type], [left, right, accumulator]).results[0]


def load_tiles(module: ir.Module) -> None:
    """Load tiles from memory and store them there instead of casting vectors, in place."""
    casts = [each for each in operations_within(module.operation) if each.name == CAST]
    for cast in casts:
        source, result = cast.operands[0], cast.results[0]
        if isinstance(result.type, ir.VectorType):
            for write_operation in [use.owner for use in result.uses]:
                _store(write_operation, source)
        else:
            result.replace_all_uses_with(_load(producer_of(source), result.type))
        cast.operation.erase()
    run_passes(module, "canonicalize")


def _load(read_operation: ir.OpView, kind: ir.Type) -> ir.Value:
    base, *rest = read_operation.operands
    places = rest[: base.type.rank]
    is_of_pairs = base.type.element_type == ir.IntegerType.get_signless(32)
    loaded = ir.Type.parse(f"!amx.tile<{ROWS}x{COLUMNS}xi32>") if is_of_pairs else kind
    segments = ir.DenseI32ArrayAttr.get([1, len(places), 0])
    with ir.InsertionPoint(read_operation), read_operation.location:
        load = ir.Operation.create(LOAD, [loaded], [base, *places], {"operandSegmentSizes": segments})
        return _cast(kind, load.results[0])


def _store(write_operation: ir.OpView, tile: ir.Value) -> None:
    _, base, *rest = write_operation.operands
    places = rest[: base.type.rank]
    segments = ir.DenseI32ArrayAttr.get([1, len(places), 1, 0])
    with ir.InsertionPoint(write_operation), write_operation.location:
        ir.Operation.create(STORE, [], [base, *places, tile], {"operandSegmentSizes": segments})
    write_operation.operation.erase()


def _cast(kind: ir.Type, value: ir.Value) -> ir.Value:
    if value.type == kind:
        return value
    return ir.Operation.create(CAST, [kind], [value]).results[0]


def _sums() -> ir.Type:
    return ir.Type.parse(f"!amx.tile<{ROWS}x{COLUMNS}xf32>")


def _pairs() -> ir.Type:
    return ir.Type.parse(f"!amx.tile<{ROWS}x{PAIR * COLUMNS}xbf16>")

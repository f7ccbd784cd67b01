"""Which key tiles the rows of a tile of packed queries see.

Packed sequences lie one after the other; a tile of rows may hold the end of one, some whole ones and the
beginning of another.  A scalar loop over the sequences finds the range of keys that some row sees, and the
range that all rows see.
"""

from dataclasses import dataclass

from mlir import ir
from mlir.dialects import arith, scf, tensor

from harness.codegen.ir import builder as b
from harness.codegen.payloads.packed_attention import FAR, SequenceBounds
from harness.codegen.rewrites.ranges import add, as_value, maximum, minimum, round_down, subtract
from harness.codegen.rewrites.visible_tiles import TileBounds


@dataclass(frozen=True)
class PackedSequences:
    """Cumulative lengths, and how rows see keys."""

    bounds: SequenceBounds
    batch: int
    keys: int
    """All keys of all sequences, or of all pages that hold them."""
    is_causal: bool
    is_top_left: bool
    window: tuple[int | None, int | None] = (None, None)
    """Keys before and after the one that a query is aligned with at the end; None: all."""


def key_tile_bounds(sequences: PackedSequences, first_row: b.Size, rows: int, step: int) -> TileBounds:
    """Return the key tiles that a tile of rows sees, for a loop over `0 … keys` by `step`.

    New operations go to the current insertion point.
    """
    far, none = b.index(FAR), b.index(0)
    loop = scf.ForOp(none, b.index(sequences.batch), b.index(1), [far, none, far, none, none])
    with ir.InsertionPoint(loop.body):
        scf.YieldOp(
            _with_sequence(sequences, loop.induction_variable, first_row, rows, list(loop.inner_iter_args))
        )
    least_first, most_first, least_end, most_end, covered = loop.results
    # Rows that belong to no sequence see nothing, so that no tile is seen by all rows.
    all_covered = arith.cmpi(arith.CmpIPredicate.eq, covered, b.index(rows))
    whole_end = arith.select(all_covered, least_end, none)
    return TileBounds(
        first=round_down(minimum(least_first, sequences.keys), step),
        whole_first=round_down(add(minimum(most_first, sequences.keys), step - 1), step),
        whole_end=round_down(maximum(whole_end, 0), step),
        end=minimum(maximum(most_end, 0), sequences.keys),
    )


def _with_sequence(
    sequences: PackedSequences, number: ir.Value, first_row: b.Size, rows: int, bounds_so_far: list[ir.Value]
) -> list[ir.Value]:
    query, query_end, key, key_end = (_bound(array, offset, number) for array, offset in sequences.bounds)
    first, end = maximum(query, first_row), minimum(query_end, add(first_row, rows))
    first_of_first, first_of_last = key, key
    least_end, most_end = key_end, key_end
    left, right = sequences.window
    aligned = subtract(key_end, query_end)
    if left is not None:
        first_of_first = maximum(key, subtract(add(first, aligned), left))
        first_of_last = maximum(key, subtract(add(end, aligned), left + 1))
    if right is not None:
        least_end = minimum(key_end, add(add(first, aligned), right + 1))
        most_end = minimum(key_end, add(add(end, aligned), right))
    if sequences.is_causal:
        # Row i sees keys before i + shift.
        shift = subtract(key, query) if sequences.is_top_left else aligned
        least_end = minimum(least_end, add(add(first, shift), 1))
        most_end = minimum(most_end, add(end, shift))
    present = arith.cmpi(arith.CmpIPredicate.slt, as_value(first), as_value(end))
    least_first, most_first, known_least_end, known_most_end, covered = bounds_so_far
    updated = [
        minimum(least_first, first_of_first),
        maximum(most_first, first_of_last),
        minimum(known_least_end, least_end),
        maximum(known_most_end, most_end),
        add(covered, subtract(end, first)),
    ]
    return [
        arith.select(present, as_value(new), old) for new, old in zip(updated, bounds_so_far, strict=True)
    ]


def _bound(array: ir.Value, offset: int, number: ir.Value) -> ir.Value:
    position = b.affine_value(lambda n: n + offset, number) if offset else number
    return arith.index_cast(ir.IndexType.get(), tensor.extract(array, [position]))

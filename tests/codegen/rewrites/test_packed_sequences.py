"""The key tiles that a tile of packed queries sees, against all pairs of a query and a key."""

from dataclasses import dataclass

import numpy as np
from codegen.rewrites.attention_ir import Attention, integers, row_masked
from codegen.rewrites.execution import close, execute, payload, within
from hypothesis import given, settings
from hypothesis import strategies as st
from mlir import ir
from mlir.dialects import arith, tensor

from harness.codegen.dialect import operations as attn
from harness.codegen.dialect.context import mlir_context
from harness.codegen.ir import builder as b
from harness.codegen.payloads.packed_attention import sequence_bounds
from harness.codegen.rewrites.packed_sequences import PackedSequences, key_tile_bounds
from harness.codegen.rewrites.ranges import as_value
from harness.codegen.rewrites.tile_and_fuse import tile_and_fuse
from harness.codegen.rewrites.visible_tiles import split_at_masks


@dataclass(frozen=True)
class Packing:
    """Sequences one after the other."""

    lengths: tuple[tuple[int, int], ...]
    """Of queries and of keys."""
    causal: bool = False
    top_left: bool = False

    @property
    def starts(self) -> np.ndarray:
        """Return the cumulative lengths of queries and of keys."""
        return np.concatenate([np.zeros((1, 2), int), np.cumsum(self.lengths, 0)]).T

    @property
    def keys(self) -> int:
        return int(self.starts[1, -1])

    def seen(self, row: int) -> range:
        """Return the keys that a row sees: none if it belongs to no sequence."""
        query_starts, key_starts = self.starts
        for number, (queries, keys) in enumerate(self.lengths):
            position = row - query_starts[number]
            if 0 <= position < queries:
                last = position + (0 if self.top_left else keys - queries) if self.causal else keys
                return range(key_starts[number], key_starts[number] + max(0, min(keys, last + 1)))
        return range(0)

    def build(self) -> PackedSequences:
        query_starts, key_starts = (integers(starts) for starts in self.starts.tolist())
        bounds = sequence_bounds({"cu_seqlens_q": query_starts, "cu_seqlens_kv": key_starts})
        return PackedSequences(bounds, len(self.lengths), self.keys, self.causal, self.top_left)


def computed_bounds(packing: Packing, first_rows, rows: int, step: int, is_known: bool) -> list[list[int]]:
    """Return first, whole_first, whole_end and end for each tile of rows."""

    def build(offset):
        sequences = packing.build()
        moved = tensor.extract(offset, [b.index(0)])
        integer = arith.index_cast(ir.IndexType.get(), arith.fptosi(ir.IntegerType.get_signless(64), moved))
        numbers = []
        for row in first_rows:
            first_row = row if is_known else b.affine_value(lambda d, row=row: d + row, integer)
            bounds = key_tile_bounds(sequences, first_row, rows, step)
            for bound in (bounds.first, bounds.whole_first, bounds.whole_end, bounds.end):
                wide = arith.index_cast(ir.IntegerType.get_signless(64), as_value(bound))
                numbers.append(arith.sitofp(ir.F64Type.get(), wide))
        return [tensor.from_elements(b.tensor_type([len(first_rows), 4], "f64"), numbers)]

    with mlir_context():
        module = payload([(1,)], build)
        (result,) = execute(module, [np.zeros(1)])
    return result.astype(int).tolist()


PACKINGS = st.builds(
    Packing,
    lengths=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 9)), min_size=1, max_size=4)
    .map(tuple)
    .filter(lambda lengths: sum(keys for _, keys in lengths) > 0),
    causal=st.booleans(),
    top_left=st.booleans(),
)


@settings(max_examples=12)
@given(PACKINGS, st.integers(1, 5), st.integers(1, 4), st.booleans())
def test_no_key_is_missed_and_whole_tiles_are_seen_by_all_rows(packing, rows, step, is_known):
    """One more tile of rows than there are queries: its rows belong to no sequence."""
    first_rows = range(0, int(packing.starts[0, -1]) + rows, rows)
    for first_row, (first, whole_first, whole_end, end) in zip(
        first_rows, computed_bounds(packing, first_rows, rows, step, is_known), strict=True
    ):
        assert first % step == whole_first % step == whole_end % step == 0
        assert first >= 0
        assert end <= packing.keys
        seen = [set(packing.seen(first_row + row)) for row in range(rows)]
        assert set.union(*seen) <= set(range(first, end))
        assert set(range(whole_first, whole_end)) <= set.intersection(*seen)


@settings(max_examples=8)
@given(
    st.builds(
        Packing,
        lengths=st.lists(st.integers(1, 6).flatmap(lambda n: st.tuples(st.just(n), st.integers(n, 9)))).map(
            lambda lengths: tuple(lengths[:4]) or ((1, 1),)
        ),
        causal=st.booleans(),
    ),
    st.integers(1, 5),
    st.integers(1, 4),
)
def test_where_every_query_sees_a_key_no_tile_is_visited_or_masked_in_vain(packing, rows, step):
    first_rows = range(0, int(packing.starts[0, -1]) - rows + 1, rows)
    for first_row, bounds in zip(
        first_rows, computed_bounds(packing, first_rows, rows, step, True), strict=True
    ):
        seen = [packing.seen(first_row + row) for row in range(rows)]
        starts, ends = [each.start for each in seen], [each.stop for each in seen]
        assert bounds == [
            min(starts) // step * step,
            -(-max(starts) // step) * step,
            min(ends) // step * step,
            max(ends),
        ]


@settings(max_examples=8)
@given(PACKINGS, st.integers(1, 3), st.integers(1, 4))
def test_visiting_those_tiles_computes_attention_of_each_sequence(packing, tile, step):
    queries = max(1, int(packing.starts[0, -1]))
    problem = Attention(queries=queries, keys=packing.keys, width=2, width_v=2)
    tile = min(tile, queries)
    rows_seen = [packing.seen(row) for row in range(queries)]
    bounds_of_rows = [(seen.start, seen.stop) for seen in rows_seen]
    build = problem.with_scores(lambda score: row_masked(score, bounds_of_rows))
    inputs = query, key, value = problem.inputs()
    with mlir_context():
        module = payload(problem.arguments(), build)
        root = within(module, "attn.batch_matmul")[-1]
        nest = tile_and_fuse(root, [tile, 0, step])
        outer, loop = nest.loops
        step = min(step, packing.keys)
        with ir.InsertionPoint(loop):
            first_row = _first_row(outer, queries, tile)
            bounds = key_tile_bounds(packing.build(), first_row, tile, step)
        split_at_masks(loop, bounds)
        assert len(within(module, "scf.for")) == len(
            [outer, "of sequences", "of whole tiles", "of cut tiles"]
        )
        assert len(within(module, attn.RowMask.NAME)) == 1
        (result,) = execute(module, inputs)
    expected = np.zeros_like(result)
    for row, seen in enumerate(rows_seen):
        if len(seen):
            weight = np.exp(query[row] @ key[seen].T)
            expected[row] = weight / weight.sum() @ value[seen]
    close(result, expected)


def _first_row(loop: ir.OpView, queries: int, tile: int) -> b.Size:
    """Return where the rows of a tile start, which is moved back at the end."""
    position = loop.regions[0].blocks[0].arguments[0]
    return b.affine_minimum(lambda row: [row, queries - tile], position)

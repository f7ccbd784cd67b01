"""Masks by bounds of rows, tiled, fused and split like any other mask."""

import numpy as np
from codegen.rewrites.attention_ir import LOWEST, Attention, row_masked, softmax_reference
from codegen.rewrites.execution import close, execute, payload, within
from hypothesis import given, settings
from hypothesis import strategies as st
from mlir import ir

from harness.codegen.dialect import operations as attn
from harness.codegen.dialect.context import mlir_context
from harness.codegen.rewrites.errors import RewriteRefusedError
from harness.codegen.rewrites.normalization import absorb_scale, softmaxes
from harness.codegen.rewrites.tile_and_fuse import TileOptions, tile_and_fuse
from harness.codegen.rewrites.visible_tiles import TileBounds, split_at_masks

BOUNDS = st.tuples(st.integers(-1, 12), st.integers(-1, 12))


def refusal_of(rewrite) -> str | None:
    try:
        rewrite()
    except RewriteRefusedError as refusal:
        return str(refusal)
    return None


def visible(bounds, columns: int, offset: int = 0) -> np.ndarray:
    column = offset + np.arange(columns)
    return np.array([(first <= column) & (column < end) for first, end in bounds])


@settings(max_examples=12)
@given(
    st.lists(BOUNDS, min_size=1, max_size=5),
    st.integers(1, 7),
    st.integers(0, 3),
    st.tuples(*[st.integers(0, 4)] * 3),
    st.permutations(range(3)),
)
def test_tiles_of_a_mask_of_rows(bounds, columns, offset, sizes, order):
    shape = (2, len(bounds), columns)
    x = np.random.default_rng(0).normal(size=shape)
    with mlir_context():
        module = payload([shape], lambda x: [row_masked(x, bounds, offset)])
        options = TileOptions(drop=frozenset({0}) if sizes[0] == 1 else frozenset())
        root = within(module, attn.RowMask.NAME)[0]
        refusal = refusal_of(lambda: tile_and_fuse(root, sizes, order, options=options))
        if refusal:
            # The mask is applied in place: what a tile repeats would be masked from what is masked already.
            assert "would continue from what the tile before has written" in refusal
            return
        (result,) = execute(module, [x])
    assert np.array_equal(result, np.where(visible(bounds, columns, offset), x, -np.inf))


def attention(problem: Attention, bounds):
    """Return a builder of attention with masked rows of scores."""
    return problem.with_scores(lambda score: row_masked(score, bounds))


def expected(problem: Attention, bounds, query, key, value) -> np.ndarray:
    score = query @ np.swapaxes(key, -1, -2) * (1.0 if problem.factor is None else problem.factor)
    score = np.where(visible(bounds, problem.keys), score, -np.inf)
    rows = score.shape[:-1]
    result = softmax_reference(score, np.full(rows, LOWEST), np.zeros(rows), scale=1.0, normalized=True)
    return result.probability @ value


@settings(max_examples=12)
@given(
    st.lists(BOUNDS, min_size=1, max_size=6),
    st.integers(1, 9),
    st.sampled_from([(), (2,)]),
    st.tuples(st.integers(0, 4), st.integers(1, 4)),
    st.booleans(),
)
def test_attention_with_masked_rows_in_tiles(bounds, keys, leading, tiles, splits):
    problem = Attention(leading, queries=len(bounds), keys=keys)
    inputs = problem.inputs()
    with mlir_context():
        module = payload(problem.arguments(), attention(problem, bounds))
        root = within(module, "attn.batch_matmul")[-1]
        tile_and_fuse(root, [*[0] * len(leading), tiles[0], 0, tiles[1]])
        if splits:
            # Without bounds every tile is taken to be cut.
            made = split_at_masks(within(module, "scf.for")[-1])
            assert len(made) == 1
        (result,) = execute(module, inputs)
    close(result, expected(problem, bounds, *inputs))


def test_only_tiles_between_the_given_bounds_are_visited_and_masked_where_they_say():
    """Rows see keys 3 … 15: with tiles of 4, all of tile 4 … 8 and 8 … 12, and parts of two others."""
    bounds = [(3, 15), (4, 15), (2, 14)]
    problem = Attention(queries=3, keys=20)
    inputs = problem.inputs()
    with mlir_context():
        module = payload(problem.arguments(), attention(problem, bounds))
        tile_and_fuse(within(module, "attn.batch_matmul")[-1], [0, 0, 4])
        made = split_at_masks(within(module, "scf.for")[0], TileBounds(0, 4, 12, 15))
        has_mask = [
            any(op.name == attn.RowMask.NAME for op in loop.regions[0].blocks[0].operations) for loop in made
        ]
        assert has_mask == [False, True]
        ranges = [
            [ir.IntegerAttr(operand.owner.attributes["value"]).value for operand in list(loop.operands)[:2]]
            for loop in made
        ]
        assert ranges == [[4, 12], [0, 15 - (12 - 4)]]
        (result,) = execute(module, inputs)
    close(result, expected(problem, bounds, *inputs))


def test_a_factor_is_taken_from_before_a_mask_of_rows():
    bounds = [(0, 3), (2, 2), (1, 9)]
    problem = Attention(queries=3, keys=5, factor=0.5)
    inputs = problem.inputs()
    with mlir_context():
        module = payload(problem.arguments(), attention(problem, bounds))
        assert absorb_scale(softmaxes(module)[0])
        assert attn.Softmax(softmaxes(module)[0]).scale == 0.5
        (result,) = execute(module, inputs)
    close(result, expected(problem, bounds, *inputs))

"""Tiled attention computes what the untiled payload computes, whatever the tiles."""

import numpy as np
import pytest
from codegen.rewrites.attention_ir import Attention, doubled
from codegen.rewrites.execution import close, execute, payload, within
from hypothesis import given, settings
from hypothesis import strategies as st
from mlir import ir

from harness.codegen.dialect.context import mlir_context
from harness.codegen.ir import builder as b
from harness.codegen.rewrites.errors import RewriteRefusedError
from harness.codegen.rewrites.simplifications import fold_diagonal_products
from harness.codegen.rewrites.tile_and_fuse import TileOptions, tile_and_fuse

LENGTHS = st.integers(1, 9)

PROBLEMS = st.builds(
    Attention,
    leading=st.sampled_from([(), (2,), (2, 3)]),
    queries=LENGTHS,
    keys=LENGTHS,
    width=st.integers(1, 3),
    width_v=st.integers(1, 3),
    scale=st.sampled_from([1.0, 0.3]),
    factor=st.sampled_from([None, 0.7, -0.5]),
    shift=st.sampled_from([None, 0, 2, -1]),
    layout=st.sampled_from(["nt", "nn"]),
    normalized=st.booleans(),
    continued=st.booleans(),
    accumulates=st.booleans(),
)

EXPECTED_REFUSALS = (
    "a shifted tile of a parallel loop inside a reduction loop",
    "a shifted tile would continue from what the tile before has written",
    "inside the reduction does not cut its rows",
)


@st.composite
def tilings(draw):
    """A problem, tile sizes for the product with V, and an order of its loops."""
    problem = draw(PROBLEMS)
    leading = [draw(st.integers(0, 2)) for _ in problem.leading]
    columns = draw(st.sampled_from([0, 0, 0, 2]))
    sizes = [*leading, draw(st.integers(0, 4)), columns, draw(st.integers(1, 5))]
    return problem, sizes, draw(st.permutations(range(len(sizes))))


def tile_or_refuse(root, sizes, order, options):
    try:
        tile_and_fuse(root, sizes, order, options=options)
    except RewriteRefusedError as refusal:
        return str(refusal)
    return None


@settings(max_examples=16)
@given(tilings(), st.booleans(), st.booleans())
def test_equals_the_untiled_payload(tiling, peels_rest, folds):
    problem, sizes, order = tiling
    inputs = problem.inputs()
    with mlir_context():
        module = problem.module()
        root = within(module, "attn.batch_matmul")[-1]
        refusal = tile_or_refuse(root, sizes, order, TileOptions(peels_rest=peels_rest))
        if refusal:
            assert any(reason in refusal for reason in EXPECTED_REFUSALS)
            return
        if folds:
            fold_diagonal_products(module)
        (result,) = execute(module, inputs)
    close(result, problem.reference(*inputs).output)


@settings(max_examples=10)
@given(
    st.builds(
        Attention,
        leading=st.sampled_from([(), (2,), (1, 2)]),
        queries=LENGTHS,
        keys=LENGTHS,
        scale=st.just(0.5),
        shift=st.sampled_from([None, 0]),
    ),
    st.booleans(),
)
def test_statistics_that_are_used_are_extra_results_of_the_loops(problem, keys_outside):
    """Total and maximum feed the log-sum-exp, which the payload computes before the product with V."""
    rank = len(problem.output_shape)

    def build(*values):
        steps = problem.build(*values)
        return [steps.output, steps.softmax.maximum, steps.softmax.total]

    inputs = problem.inputs()
    with mlir_context():
        module = payload(problem.arguments(), build)
        order = list(range(rank + 1))
        if keys_outside and problem.queries % 2 == 0:
            order = [*order[: rank - 2], rank, rank - 1, rank - 2]
        sizes = [*[1] * (rank - 2), 2, 0, 3]
        tile_and_fuse(within(module, "attn.batch_matmul")[-1], sizes, order)
        results = execute(module, inputs)
    expected = problem.reference(*inputs)
    close(results[0], expected.output)
    close(results[1], expected.softmax.maximum)
    close(results[2], expected.softmax.total)


@settings(max_examples=10)
@given(
    st.builds(
        Attention,
        leading=st.sampled_from([(), (2,)]),
        queries=LENGTHS,
        keys=LENGTHS,
        factor=st.just(0.5),
    ),
    st.booleans(),
    st.booleans(),
)
def test_kept_scores_are_an_extra_result_of_the_loops(problem, peels_rest, keys_outside):
    kept = []

    def build(*values):
        steps = problem.build(*values)
        kept.append(steps.score)
        return [steps.output, steps.score]

    inputs = problem.inputs()
    with mlir_context():
        module = payload(problem.arguments(), build)
        rank = len(problem.output_shape)
        order = list(range(rank + 1))
        if keys_outside and problem.queries % 2 == 0:
            order = order[::-1]
        sizes = [*[1] * (rank - 2), 2, 0, 3]
        options = TileOptions(peels_rest=peels_rest)
        root = within(module, "attn.batch_matmul")[-1]
        nest = tile_and_fuse(root, sizes, order, keep_intermediates=kept, options=options)
        assert len(nest.results) == 2
        assert len(within(module, "attn.batch_matmul")) == (3 if len(nest.roots) == 1 else 6)
        output, score = execute(module, inputs)
    expected = problem.reference(*inputs)
    close(output, expected.output)
    close(score, expected.score)


@pytest.mark.parametrize("tile", [2, 3, 4])
def test_what_is_computed_of_rows_that_tiles_need_is_kept_with_them(tile):
    problem = Attention(queries=4, keys=6)
    kept = []

    def build(*values):
        steps = problem.build(*values)
        kept.append(doubled(doubled(steps.softmax.total)))
        return [steps.output, kept[0]]

    inputs = problem.inputs()
    with mlir_context():
        module = payload(problem.arguments(), build)
        root = within(module, "attn.batch_matmul")[-1]
        options = TileOptions(grid=1)
        nest = tile_and_fuse(root, [tile, 0, 0], keep_intermediates=kept, options=options)
        assert len(nest.results) == 2
        assert len(within(module, "attn.batch_matmul")) == 2
        output, rows = execute(module, inputs)
    expected = problem.reference(*inputs)
    close(output, expected.output)
    close(rows, 4 * np.exp(expected.score - expected.score.max(axis=1, keepdims=True)).sum(axis=1))


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [0, 1, 4, 3, 2]])
@pytest.mark.parametrize("tiles", [0, 1, 2, 3])
def test_after_each_key_tile_the_output_is_exact_for_the_keys_so_far(order, tiles):
    """With the loop over key tiles cut short, the output is attention over the keys seen."""
    problem = Attention((2, 2), queries=8, keys=12, scale=0.5)
    inputs = problem.inputs()
    with mlir_context():
        module = problem.module()
        root = within(module, "attn.batch_matmul")[-1]
        nest = tile_and_fuse(root, [1, 0, 4, 0, 4], order)
        _run_only(nest.loops[2 if order[-1] == 4 else 1], 4 * tiles)
        (result,) = execute(module, inputs)
    query, key, value = inputs
    if tiles == 0:
        close(result, np.zeros_like(result))
    else:
        seen = Attention((2, 2), queries=8, keys=4 * tiles, scale=0.5)
        close(result, seen.reference(query, key[..., : 4 * tiles, :], value[..., : 4 * tiles, :]).output)


def _run_only(loop: ir.OpView, end: int) -> None:
    """Cut a loop short."""
    with ir.InsertionPoint(loop), loop.location:
        loop.operation.operands[1] = b.index(end)

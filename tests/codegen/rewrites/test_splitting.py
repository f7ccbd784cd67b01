"""Loops split by what masks leave of tiles, and grids split into kernels."""

import math

import numpy as np
import pytest
from codegen.rewrites.attention_ir import Attention
from codegen.rewrites.execution import close, execute, payload, within
from hypothesis import given, settings
from hypothesis import strategies as st
from mlir import ir

from harness.codegen.dialect import operations as attn
from harness.codegen.dialect.context import mlir_context
from harness.codegen.ir import builder as b
from harness.codegen.rewrites.errors import RewriteRefusedError
from harness.codegen.rewrites.tile_and_fuse import tile_and_fuse
from harness.codegen.rewrites.visible_tiles import split_at_masks


def split(module: ir.Module) -> list[ir.OpView]:
    """Split the innermost loop."""
    return split_at_masks(within(module, "scf.for")[-1])


def tiled(problem: Attention, sizes) -> ir.Module:
    module = problem.module()
    tile_and_fuse(within(module, "attn.batch_matmul")[-1], sizes)
    return module


@settings(max_examples=16)
@given(
    st.builds(
        Attention,
        leading=st.sampled_from([(), (2,)]),
        queries=st.integers(1, 9),
        keys=st.integers(1, 14),
        shift=st.integers(-6, 6),
        normalized=st.booleans(),
        continued=st.booleans(),
    ),
    st.integers(1, 5),
    st.integers(1, 5),
)
def test_skipping_what_a_causal_mask_hides_changes_nothing(problem, query_tile, key_tile):
    inputs = problem.inputs()
    with mlir_context():
        module = tiled(problem, [0] * len(problem.leading) + [query_tile, 0, key_tile])
        split(module)
        (result,) = execute(module, inputs)
    close(result, problem.reference(*inputs).output)


@settings(max_examples=10)
@given(
    st.integers(1, 9),
    st.integers(1, 14),
    st.integers(-3, 3),
    st.integers(0, 4),
    st.sampled_from([None, 1, 2, 3]),
)
def test_skipping_what_a_window_hides_changes_nothing(queries, keys, shift, left, period):
    problem = Attention(queries=queries, keys=keys)
    inputs = problem.inputs()
    with mlir_context():
        build = windowed(problem, shift, left, period)
        module = payload(problem.arguments(), build)
        tile_and_fuse(within(module, "attn.batch_matmul")[-1], [2, 0, 3])
        split(module)
        (result,) = execute(module, inputs)
    row, column = np.indices((queries, keys))
    query = row if period is None else row % period
    visible = (column <= query + shift) & (column >= query + shift - left)
    close(result, masked_attention(visible, *inputs))


def masked_where(inequalities):
    """Return a mask of scores by inequalities of their row and column."""

    def mask(score):
        visible = ir.AffineMap.get(2, 0, inequalities(ir.AffineDimExpr.get(0), ir.AffineDimExpr.get(1)))
        return attn.mask(score, visible, [b.index(0)] * 2, fill=-math.inf).masked

    return mask


def windowed(problem, shift, left, period=None):
    """Return a builder of attention whose query i sees keys from i + shift − left to i + shift.

    With a period queries are numbered from 0 again after it.
    """

    def inequalities(row, column):
        query = row if period is None else ir.AffineExpr.get_mod(row, period)
        return [query - column + shift, column - query - shift + left]

    return problem.with_scores(masked_where(inequalities))


def masked_attention(visible, query, key, value):
    weight = np.where(visible, np.exp(query @ key.T), 0.0)
    total = weight.sum(-1, keepdims=True)
    return (weight / np.where(total == 0, 1.0, total)) @ value


def visited(module: ir.Module, inputs: list[np.ndarray], problem: Attention) -> np.ndarray:
    """Return what is left if masks keep everything, which shows the tiles that are visited at all."""
    for mask in within(module, "attn.mask"):
        mask.results[0].replace_all_uses_with(mask.operands[0])
    (result,) = execute(module, inputs)
    return result


def test_key_tiles_that_a_causal_mask_hides_are_not_visited():
    """With the masks taken out of what is left, a query tile sees its keys rounded up to whole tiles."""
    problem = Attention(queries=8, keys=8, shift=0)
    query, key, value = inputs = problem.inputs()
    with mlir_context():
        module = tiled(problem, [2, 0, 4])
        split(module)
        result = visited(module, inputs, problem)
    row, column = np.indices((8, 8))
    seen = column < (row // 2 * 2 + 2 + 3) // 4 * 4
    close(result, masked_attention(seen, query, key, value))


def refused(module: ir.Module) -> str:
    before = str(module)
    with pytest.raises(RewriteRefusedError) as refusal:
        split(module)
    assert str(module) == before
    return str(refusal.value)


def test_a_remainder_of_the_loops_position_bounds_no_loop():
    problem = Attention(queries=4, keys=8)
    build = problem.with_scores(masked_where(lambda _, key: [ir.AffineExpr.get_mod(key, 3) - key + 2]))
    with mlir_context():
        module = payload(problem.arguments(), build)
        tile_and_fuse(within(module, "attn.batch_matmul")[-1], [0, 0, 4])
        assert "does not bound the loop's position" in refused(module)


def test_a_loop_that_also_leaves_scores_visits_all_tiles():
    problem = Attention(queries=4, keys=8, shift=0)
    kept = []

    def build(*values):
        steps = problem.build(*values)
        kept.append(steps.product)
        return [steps.output, steps.product]

    with mlir_context():
        module = payload(problem.arguments(), build)
        tile_and_fuse(within(module, "attn.batch_matmul")[-1], [0, 0, 4], keep_intermediates=kept)
        assert "it also yields what tensor.insert_slice makes" in refused(module)


def test_a_loop_over_queries_inside_of_the_keys_is_not_split():
    with mlir_context():
        module = problem_with_keys_outside()
        assert "not a softmax whose maximum the loop carries" in refused(module)


def problem_with_keys_outside() -> ir.Module:
    module = Attention(queries=4, keys=8, shift=0).module()
    tile_and_fuse(within(module, "attn.batch_matmul")[-1], [2, 0, 4], [2, 1, 0])
    return module


def test_a_loop_that_begins_later_is_split_from_there_on():
    problem = Attention(queries=16, keys=16, shift=0)
    inputs = problem.inputs()
    with mlir_context():
        module = tiled(problem, [4, 0, 4])
        split(module)
        assert split(module)
        (result,) = execute(module, inputs)
    close(result, problem.reference(*inputs).output)

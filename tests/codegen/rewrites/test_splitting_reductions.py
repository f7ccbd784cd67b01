"""Keys that are gone over in parts and merged give what they give one after another."""

import numpy as np
import pytest
from codegen.rewrites.attention_ir import Attention
from codegen.rewrites.execution import close, execute, payload, within
from hypothesis import given, settings
from hypothesis import strategies as st
from mlir import ir
from mlir.dialects import arith

from harness.codegen.dialect.context import mlir_context
from harness.codegen.ir import builder as b
from harness.codegen.rewrites.errors import RewriteRefusedError
from harness.codegen.rewrites.split_reduction import split_reduction
from harness.codegen.rewrites.tile_and_fuse import tile_and_fuse
from harness.codegen.rewrites.visible_tiles import split_at_masks

PROBLEMS = st.builds(
    Attention,
    leading=st.sampled_from([(), (2,)]),
    queries=st.integers(1, 6),
    keys=st.integers(2, 14),
    shift=st.sampled_from([None, -3, 0, 2]),
    scale=st.sampled_from([1.0, 0.3]),
    normalized=st.booleans(),
)


def tiled(problem: Attention, query_tile: int, key_tile: int) -> ir.Module:
    """Return a problem with a loop over its keys, the last one."""
    module = problem.module()
    sizes = [0] * len(problem.leading) + [query_tile, 0, key_tile]
    tile_and_fuse(within(module, "attn.batch_matmul")[-1], sizes)
    return module


def key_loop(module: ir.Module) -> ir.OpView:
    return within(module, "scf.for")[-1]


@settings(max_examples=12)
@given(PROBLEMS, st.integers(1, 3), st.integers(1, 5), st.integers(1, 6))
def test_merged_parts_are_the_whole(problem: Attention, query_tile: int, key_tile: int, parts: int) -> None:
    inputs = problem.inputs()
    with mlir_context():
        module = tiled(problem, query_tile, key_tile)
        split_reduction(key_loop(module), parts)
        (result,) = execute(module, inputs)
    close(result, problem.reference(*inputs).output)


@settings(max_examples=12)
@given(PROBLEMS, st.integers(1, 3), st.integers(1, 5), st.integers(1, 6))
def test_what_masks_hide_of_a_part_can_be_skipped(
    problem: Attention, query_tile: int, key_tile: int, parts: int
) -> None:
    inputs = problem.inputs()
    with mlir_context():
        module = tiled(problem, query_tile, key_tile)
        split_reduction(key_loop(module), parts)
        split_at_masks(key_loop(module))
        (result,) = execute(module, inputs)
    close(result, problem.reference(*inputs).output)


@pytest.mark.parametrize("normalized", [False, True])
def test_scores_of_minus_infinity_weigh_nothing(normalized: bool) -> None:
    problem = Attention(queries=2, keys=8, width=1, normalized=normalized)
    query, key, value = problem.inputs()
    query[:], key[2:5] = 1.0, -np.inf
    with mlir_context():
        module = tiled(problem, 0, 2)
        split_reduction(key_loop(module), 4)
        (result,) = execute(module, [query, key, value])
    close(result, problem.reference(query, key, value).output)


def tile_numbers(keys: int, key_tile: int, parts: int) -> list[int]:
    """Return how many tiles each part visits: with 1 for every key's weight and value, what it adds up."""
    problem = Attention(queries=1, keys=keys, width=1, width_v=1, normalized=False)
    counts = []
    for part in range(parts):
        with mlir_context():
            module = tiled(problem, 0, key_tile)
            over_parts = split_reduction(key_loop(module), parts)
            with ir.InsertionPoint(over_parts):
                over_parts.operands[0] = b.index(part)
                over_parts.operands[1] = b.index(part + 1)
            (result,) = execute(module, [np.zeros((1, 1)), np.zeros((keys, 1)), np.ones((keys, 1))])
        counts.append(round(float(result[0, 0]) / key_tile))
    return counts


def test_parts_differ_by_one_tile_at_most_and_none_is_left_out() -> None:
    assert tile_numbers(keys=14, key_tile=2, parts=3) == [2, 2, 3]


def refused(module: ir.Module) -> str:
    before = str(module)
    with pytest.raises(RewriteRefusedError) as refusal:
        split_reduction(key_loop(module), 2)
    assert str(module) == before
    return str(refusal.value)


def test_a_softmax_that_goes_on_from_something_is_refused() -> None:
    with mlir_context():
        module = tiled(Attention(queries=2, keys=8, continued=True), 0, 2)
        assert "it does not start from sums of 0 and the lowest maximum" in refused(module)


def test_a_loop_that_carries_more_is_refused() -> None:
    problem, kept = Attention(queries=2, keys=8), []

    def build(*values: ir.Value) -> list[ir.Value]:
        steps = problem.build(*values)
        kept.append(steps.product)
        return [steps.output, steps.product]

    with mlir_context():
        module = payload(problem.arguments(), build)
        tile_and_fuse(within(module, "attn.batch_matmul")[-1], [0, 0, 2], keep_intermediates=kept)
        assert "it does not carry maximum, total and output of one running softmax" in refused(module)


def test_something_else_than_a_product_with_v_is_refused() -> None:
    with mlir_context():
        module = tiled(Attention(queries=2, keys=8), 0, 2)
        body = key_loop(module).regions[0].blocks[0]
        end = body.operations[len(body.operations) - 1]
        position = next(number for number, value in enumerate(end.operands) if value.type.rank == 2)
        with ir.InsertionPoint(end), ir.Location.unknown():
            doubled = b.structured(
                "ab->ab", [end.operands[position]], b.empty([2, 4], "f64"), lambda x: arith.addf(x, x)
            )
        end.operands[position] = doubled
        assert "what it adds up is no product of its probabilities with V" in refused(module)

"""Attention tiled as one operation, before it is taken apart."""

import pytest
from codegen.rewrites.attention_ir import doubled
from codegen.rewrites.attention_op import AttentionOp
from codegen.rewrites.execution import close, execute, payload, within
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.codegen.dialect import operations as attn
from harness.codegen.dialect.attention import take_apart
from harness.codegen.dialect.context import mlir_context
from harness.codegen.rewrites.errors import RewriteRefusedError
from harness.codegen.rewrites.tile_and_fuse import TileOptions, tile_and_fuse

PEELED = TileOptions(peels_rest=True)


def attention_in(module):
    return within(module, attn.Attention.NAME)


@settings(max_examples=24)
@given(
    tiles=st.tuples(st.integers(0, 2), st.sampled_from([0, 1, 2, 3, 6]), st.integers(0, 5)),
    order=st.permutations(range(3)),
    problem=st.builds(
        AttentionOp,
        queries=st.just(6),
        bias_axes=st.sampled_from([None, (2,), (0, 2), (0, 1, 2)]),
        mask_axes=st.sampled_from([None, (0,), (1,), (2,)]),
        continues=st.booleans(),
    ),
)
def test_tiles_in_any_order_give_the_whole(tiles, order, problem):
    inputs = problem.inputs()
    with mlir_context():
        module = problem.module()
        tile_and_fuse(attention_in(module)[0], [*tiles, 0, 0], [*order, 3, 4], options=PEELED)
        results = execute(module, inputs)
    for result, expected in zip(results, problem.reference(*inputs), strict=True):
        close(result, expected)


def test_a_loop_over_keys_carries_output_maximum_and_total():
    with mlir_context():
        module = AttentionOp(keys=6).module()
        nest = tile_and_fuse(attention_in(module)[0], [0, 0, 3, 0, 0])
        (loop,), (root,) = nest.loops, nest.roots
        carried = list(loop.regions[0].blocks[0].arguments)[1:]
        assert list(root.operands)[3:6] == carried
        take_apart(root)
        inside = [operation.name for operation in loop.regions[0].blocks[0].operations]
        assert inside.count("attn.softmax") == inside.count("attn.diag") == 1
        assert inside.count("attn.batch_matmul") == 3


def test_a_grid_of_batch_and_queries_and_a_loop_over_keys_inside():
    problem = AttentionOp(queries=6, keys=9, bias_axes=(0, 2), mask_axes=(1,))
    inputs = problem.inputs()
    with mlir_context():
        module = problem.module()
        options = TileOptions(grid=2, drop=frozenset({0}))
        nest = tile_and_fuse(attention_in(module)[0], [1, 4, 0, 0, 0], options=options)
        tile_and_fuse(nest.roots[0], [0, 3, 0, 0])
        assert str(module).count("attn.attention") == 1
        results = execute(module, inputs)
    for result, expected in zip(results, problem.reference(*inputs), strict=True):
        close(result, expected)


def test_attention_is_fused_into_the_loop_over_its_consumers_columns():
    problem = AttentionOp(width_v=6)
    inputs = problem.inputs()
    with mlir_context():
        module = payload(problem.shapes(), lambda *values: [doubled(problem._build(*values)[0])])
        tile_and_fuse(within(module, "linalg.generic")[-1], [0, 2, 4])
        (result,) = execute(module, inputs)
    close(result, 2 * problem.reference(*inputs)[0])


@pytest.mark.parametrize(
    ("tiles", "options", "reason"),
    [
        ([0, 0, 0, 2, 0], PEELED, "expected 0 for loops [3, 4]"),
        ([0, 0, 0, 0, 2], PEELED, "expected 0 for loops [3, 4]"),
        ([0, 0, 3, 0, 0], TileOptions(), "would be seen twice: peel the rest"),
    ],
)
def test_what_would_count_keys_twice_is_refused(tiles, options, reason):
    with mlir_context():
        module = AttentionOp().module()
        before = str(module)
        with pytest.raises(RewriteRefusedError) as error:
            tile_and_fuse(attention_in(module)[0], tiles, options=options)
        assert reason in str(error.value)
        assert str(module) == before

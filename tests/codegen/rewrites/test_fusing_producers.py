"""Producers are fused through whatever lies between them and the root: reshapes, transposes, pads, slices."""

import numpy as np
import pytest
from codegen.rewrites.attention_ir import Attention, doubled
from codegen.rewrites.execution import close, execute, payload, within
from hypothesis import given, settings
from hypothesis import strategies as st
from mlir import ir
from mlir.dialects import linalg, tensor

from harness.codegen.dialect.context import mlir_context
from harness.codegen.ir import builder as b
from harness.codegen.rewrites.tile_and_fuse import TileOptions, tile_and_fuse

LENGTHS = st.integers(1, 4)
TILES = st.integers(0, 5)
X = np.random.default_rng(3).normal(size=2000)


def array(*shape):
    return X[: int(np.prod(shape))].reshape(shape)


def tiled_copy(shape, build, tiles, options=TileOptions()):  # noqa: B008 (frozen)
    """Return a module with a final doubling, tiled, of what `build` makes of a doubled argument."""
    module = payload([shape], lambda value: [doubled(build(doubled(value)))])
    tile_and_fuse(within(module, "linalg.generic")[-1], tiles, options=options)
    return module


def are_all_fused(module: ir.Module) -> bool:
    """Whether all operations on elements stand in the innermost loop."""
    loops = {operation.operation.parent for operation in within(module, "linalg.generic")}
    return len(loops) == 1


def collapsed(value: ir.Value, groups: list[list[int]], shape: list[int]) -> ir.Value:
    return tensor.CollapseShapeOp(b.tensor_type(shape, "f64"), value, groups).result


@settings(max_examples=18)
@given(st.tuples(LENGTHS, LENGTHS, LENGTHS, LENGTHS), st.tuples(TILES, TILES))
def test_collapsed_dimensions(shape, tiles):
    x = array(*shape)
    outer, inner = shape[0], shape[1] * shape[2] * shape[3]
    with mlir_context():
        module = tiled_copy(shape, lambda value: collapsed(value, [[0], [1, 2, 3]], [outer, inner]), tiles)
        (result,) = execute(module, [x])
    close(result, 4 * x.reshape(outer, inner))


@settings(max_examples=18)
@given(st.tuples(LENGTHS, LENGTHS, LENGTHS), st.tuples(TILES, TILES, TILES))
def test_expanded_dimensions(shape, tiles):
    whole = (shape[0] * shape[1], shape[2])

    def expanded(value):
        kind = b.tensor_type(shape, "f64")
        return tensor.ExpandShapeOp(kind, value, [[0, 1], [2]], [], list(shape)).result

    with mlir_context():
        module = tiled_copy(whole, expanded, tiles)
        (result,) = execute(module, [array(*whole)])
    close(result, 4 * array(*shape))


@pytest.mark.parametrize("drop", [frozenset(), frozenset({0}), frozenset({0, 1})])
@pytest.mark.parametrize("order", [[0, 2, 1], [2, 0, 1], [1, 0, 2]])
def test_transposes_are_transposes_even_of_square_tiles(order, drop):
    x = array(4, 4, 4)
    with mlir_context():

        def build(value):
            return linalg.transpose(value, outs=[b.empty([4, 4, 4], "f64")], permutation=order).results[0]

        module = tiled_copy(x.shape, build, [1, 1 if 1 in drop else 2, 2], TileOptions(drop=drop))
        assert are_all_fused(module)
        (result,) = execute(module, [x])
    close(result, 4 * x.transpose(order))


PADS = st.integers(0, 3)


@settings(max_examples=18)
@given(
    st.tuples(LENGTHS, LENGTHS),
    st.tuples(PADS, PADS),
    st.tuples(PADS, PADS),
    st.tuples(TILES, TILES),
)
def test_pads(shape, low, high, tiles):
    x = array(*shape)
    expected = np.pad(2 * x, list(zip(low, high, strict=True)), constant_values=7.0)
    with mlir_context():
        module = tiled_copy(
            shape, lambda value: b.pad(value, low, high, expected.shape, b.constant(7.0, "f64")), tiles
        )
        (result,) = execute(module, [x])
    close(result, 2 * expected)


@settings(max_examples=10)
@given(st.tuples(LENGTHS, LENGTHS), st.tuples(PADS, PADS), st.tuples(TILES, TILES), st.booleans())
def test_slices_of_slices(shape, offsets, tiles, reduces_rank):
    whole = (2, *(size + offset + 1 for size, offset in zip(shape, offsets, strict=True)))
    x = array(*whole)
    keep = [1, 2] if reduces_rank else [0, 1, 2]
    expected = x[1:, offsets[0] : offsets[0] + shape[0], offsets[1] : offsets[1] + shape[1]]
    expected = expected[0] if reduces_rank else expected
    with mlir_context():
        module = tiled_copy(
            whole,
            lambda value: b.slice_of(value, [1, *offsets], [1, *shape], keep),
            tiles if reduces_rank else (1, *tiles),
        )
        (result,) = execute(module, [x])
    close(result, 4 * expected)


@settings(max_examples=10)
@given(
    st.sampled_from([(2, 1), (2, 2), (1, 3), (3, 2)]),
    st.integers(1, 6),
    st.integers(1, 3),
    st.integers(0, 4),
)
def test_query_heads_that_share_a_key_head(groups, keys, head_tile, query_tile):
    """K and V are broadcast to a group of query heads and collapsed."""
    kv_heads, group = groups
    heads = kv_heads * group
    problem = Attention((heads,), queries=5, keys=keys, width=2, width_v=3)
    inputs = problem.inputs()
    inputs[1:] = [each.reshape(kv_heads, group, *each.shape[1:])[:, 0] for each in inputs[1:]]

    def repeated(value):
        _, rows, width = b.sizes_of(value)
        empty = b.empty([kv_heads, group, rows, width], "f64")
        spread = linalg.broadcast(value, outs=[empty], dimensions=[1]).results[0]
        return collapsed(spread, [[0, 1], [2], [3]], [heads, *value.type.shape[1:]])

    with mlir_context():
        module = payload(
            [each.shape for each in inputs],
            lambda query, key, value: [problem.build(query, repeated(key), repeated(value)).output],
        )
        root = within(module, "attn.batch_matmul")[-1]
        tile_and_fuse(root, [head_tile, query_tile, 0, 2])
        (result,) = execute(module, inputs)
    whole = [inputs[0], *(np.repeat(each, group, 0) for each in inputs[1:])]
    close(result, problem.reference(*whole).output)

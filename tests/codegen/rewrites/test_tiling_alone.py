"""Tiling of single operations: any loops, any order, any length."""

import numpy as np
import pytest
from codegen.rewrites.execution import close, execute, payload, within
from hypothesis import given, settings
from hypothesis import strategies as st
from mlir.dialects import arith

from harness.codegen.dialect import operations as attn
from harness.codegen.dialect.context import mlir_context
from harness.codegen.ir import builder as b
from harness.codegen.rewrites.errors import RewriteRefusedError
from harness.codegen.rewrites.tile_and_fuse import TileOptions, tile_and_fuse

LENGTHS = st.integers(1, 7)
TILES = st.integers(0, 5)
AXES = {"m": 0, "n": 1, "k": 2}


def random(*shapes):
    rng = np.random.default_rng(7)
    return [rng.normal(size=shape) for shape in shapes]


@settings(max_examples=16)
@given(
    sizes=st.fixed_dictionaries(dict.fromkeys("mnk", LENGTHS)),
    tiles=st.tuples(TILES, TILES, TILES),
    order=st.permutations(range(3)),
    peels_rest=st.booleans(),
    layout=st.sampled_from(["nn", "nt", "tn", "tt"]),
)
def test_matrix_products_continue_from_their_initial_value(sizes, tiles, order, peels_rest, layout):
    letters = ["mk" if layout[0] == "n" else "km", "kn" if layout[1] == "n" else "nk", "mn"]
    shapes = [tuple(sizes[letter] for letter in operand) for operand in letters]
    inputs = random(*shapes)
    with mlir_context():
        module = payload(shapes, lambda *v: [attn.batch_matmul(*v, layout=layout).product])
        refusal = tiled(module, "attn.batch_matmul", tiles, order, TileOptions(peels_rest=peels_rest))
        if refusal:
            assert "shifted tile" in refusal
            return
        (result,) = execute(module, inputs)
    close(result, np.einsum(f"{letters[0]},{letters[1]}->mn", *inputs[:2]) + inputs[2])


def tiled(module, name, tiles, order=None, options=TileOptions()):  # noqa: B008 (frozen)
    """Tile the last operation of a name; returns the refusal, if there is one."""
    try:
        tile_and_fuse(within(module, name)[-1], tiles, order, options=options)
    except RewriteRefusedError as refusal:
        return str(refusal)
    return None


REDUCTIONS = {
    "sum": (arith.addf, np.add),
    "maximum": (arith.maximumf, np.maximum),
    "minimum": (arith.minimumf, np.minimum),
}


@pytest.mark.parametrize("kind", REDUCTIONS)
@pytest.mark.parametrize("peels_rest", [False, True])
@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
def test_reductions_of_two_dimensions(kind, peels_rest, order):
    combine, of_numpy = REDUCTIONS[kind]
    x, start = random((4, 5, 7), (4,))
    with mlir_context():
        module = payload([x.shape, start.shape], lambda *v: [b.structured("abc->a", v[:1], v[1], combine)])
        assert tiled(module, "linalg.generic", [2, 2, 3], order, TileOptions(peels_rest=peels_rest)) is None
        (result,) = execute(module, [x, start])
    close(result, of_numpy(start, of_numpy.reduce(of_numpy.reduce(x, 1), 1)))


@settings(max_examples=12)
@given(
    shape=st.tuples(LENGTHS, LENGTHS, LENGTHS),
    tiles=st.tuples(TILES, TILES, TILES),
    axis=st.integers(0, 2),
    has_grid=st.booleans(),
)
def test_all_results_of_a_softmax_outside_of_its_reduced_dimension(shape, tiles, axis, has_grid):
    from codegen.rewrites.attention_ir import softmax_reference

    rows = shape[:axis] + shape[axis + 1 :]
    x, maximum, total = random(shape, rows, rows)
    tiles = [0 if a == axis else tile for a, tile in enumerate(tiles)]

    def body(x, maximum, total):
        out, row_out = b.empty_like(x), b.empty_like(maximum)
        return attn.softmax(x, out, maximum, total, row_out, dimension=axis, scale=0.5).operation.results

    with mlir_context():
        module = payload([shape, rows, rows], body)
        grid = sum(tile > 0 for tile in tiles) if has_grid else 0
        refusal = tiled(module, "attn.softmax", tiles, None, TileOptions(grid=grid))
        if refusal:
            assert "continue from what the tile before has written" in refusal
            return
        results = execute(module, [x, maximum, np.abs(total)])
    expected = softmax_reference(x, maximum, np.abs(total), scale=0.5, normalized=True, axis=axis)
    for each, reference in zip(results, expected, strict=True):
        close(each, reference)


def test_an_output_that_is_also_an_input_is_read_as_it_was():
    """The product starts from C and one of its factors is computed from C, too."""
    left, start = random((4, 4), (4, 4))
    with mlir_context():

        def body(left, start):
            doubled = b.structured("ab->ab", [start], b.empty([4, 4], "f64"), lambda x: arith.addf(x, x))
            return [attn.batch_matmul(left, doubled, start).product]

        module = payload([(4, 4)] * 2, body)
        tiled(module, "attn.batch_matmul", [2, 2, 0])
        (result,) = execute(module, [left, start])
    close(result, left @ (2 * start) + start)

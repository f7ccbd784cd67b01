"""What is refused, with the operation and the reason; the IR is then as it was."""

import math
import re

import pytest
from mlir import ir
from mlir.dialects import arith, tensor
from rewrites.attention_ir import Attention, doubled
from rewrites.execution import Argument, body_of, payload, within

from harness.dialect import operations as attn
from harness.dialect.context import mlir_context
from harness.errors import InputError
from harness.ir import builder as b
from harness.rewrites.dimensions import simplify_dims
from harness.rewrites.errors import RewriteRefusedError
from harness.rewrites.tile_and_fuse import Ragged, TileOptions, tile_and_fuse

SMALL = Attention(queries=4, keys=6)
ONE_RESULT = [SMALL.output_shape]


def refusal(module, root, *arguments, **keywords):
    """Return why tiling is refused; asserts that it leaves the IR alone but for simplified sizes."""
    simplify_dims(module)
    before = str(body_of(module))
    with pytest.raises(RewriteRefusedError) as refused:
        tile_and_fuse(root, *arguments, **keywords)
    assert str(body_of(module)) == before
    assert str(refused.value).startswith(f"{root.name} (tensor<") or "attn." in str(refused.value)
    return str(refused.value)


def refused_product(sizes, order=None, problem=SMALL, build=None, results=ONE_RESULT, **options):
    """Return why tiling the product with V is refused."""
    with mlir_context():
        module = payload(
            problem.arguments(), results, build or (lambda *values: [problem.build(*values).output])
        )
        root = within(module, "attn.batch_matmul")[-1]
        return refusal(module, root, sizes, order, options=TileOptions(**options))


@pytest.mark.parametrize("sizes", [[2, 2], [2, 2, 2, 2], [-1, 0, 2]])
def test_tile_sizes_must_be_one_for_each_loop(sizes):
    assert refused_product(sizes) == (
        f"attn.batch_matmul (tensor<4x4xf64>): tile sizes {sizes}; expected 3 sizes ≥ 0"
    )


@pytest.mark.parametrize("order", [[0, 1], [0, 1, 1], [1, 2, 3]])
def test_an_interchange_must_be_a_permutation(order):
    assert refused_product([2, 0, 2], order) == (
        f"attn.batch_matmul (tensor<4x4xf64>): interchange {order}; expected a permutation of 0 … 2"
    )


def test_a_grid_must_be_all_parallel_loops_outside_the_reductions():
    assert "a grid of 2 loops; expected all 1 parallel loops" in refused_product([2, 0, 2], grid=2)


def test_the_reduced_dimension_of_a_root_softmax_cannot_be_tiled():
    with mlir_context():
        module = SMALL.module()
        softmax = within(module, "attn.softmax")[0]
        reason = refusal(module, softmax, [0, 2])
    assert reason.startswith("attn.softmax (tensor<4x6xf64>, …): its reduced dimension cannot be tiled")
    assert "tile a matrix product that consumes its probabilities" in reason


def test_probabilities_must_have_one_consumer():
    def build(*values):
        steps = SMALL.build(*values)
        return [steps.output, doubled(steps.softmax.probability)]

    reason = refused_product([0, 0, 2], build=build, results=[(4, 4), (4, 6)])
    assert "its probabilities have 2 consumers (attn.batch_matmul, linalg.generic)" in reason


def test_the_one_consumer_must_be_the_root():
    def build(*values):
        steps = SMALL.build(*values)
        between = doubled(steps.softmax.probability)
        steps.output.owner.operands[0] = between
        steps.output.owner.operation.move_after(between.owner.operation)
        return [steps.output]

    reason = refused_product([0, 0, 2], build=build)
    assert "its consumer linalg.generic is not the tiled root attn.batch_matmul" in reason


def test_probabilities_must_be_the_left_factor():
    def build(query, key, value):
        steps = SMALL.build(query, key, value)
        steps.output.owner.operation.erase()
        zeros = b.filled(0.0, [4, 4], "f64")
        return [attn.batch_matmul(value, steps.softmax.probability, zeros, "tt").product]

    reason = refused_product([0, 0, 2], build=build, results=[(4, 4)])
    assert "cannot be rescaled row by row: expected attn.batch_matmul with the probabilities as" in reason


def test_probabilities_must_be_reduced_along_the_dimension_of_their_softmax():
    """The softmax runs down the columns, the product along the rows."""

    def build(x, value):
        out, rows = b.empty([4, 6], "f64"), b.filled(0.0, [6], "f64")
        softmax = attn.softmax(x, out, rows, rows, b.empty([6], "f64"), dimension=0)
        zeros = b.filled(0.0, [4, 4], "f64")
        return [attn.batch_matmul(softmax.probability, value, zeros).product]

    with mlir_context():
        module = payload([Argument((4, 6)), Argument((6, 4))], [(4, 4)], build)
        # Columns are independent, so that cutting them is no question of a running softmax.
        tile_and_fuse(within(module, "attn.batch_matmul")[-1], [0, 0, 2])
        assert len(within(module, "attn.diag")) == 0
        module = payload([Argument((4, 6)), Argument((6, 4))], [(4, 4)], build)
        assert "a tile of its probabilities along the reduced dimension needs the whole" in refusal(
            module, within(module, "attn.batch_matmul")[-1], [2, 0, 0]
        )


def test_the_correction_must_be_unused():
    def build(*values):
        steps = SMALL.build(*values)
        return [steps.output, steps.softmax.correction]

    reason = refused_product([0, 0, 2], build=build, results=[(4, 4), (4,)])
    assert "its correction (result #3) is used; a running softmax needs it" in reason


def test_what_the_root_needs_may_not_depend_on_the_statistics():
    def build(query, key, value):
        steps = SMALL.build(query, key, value)
        spread = b.structured("a->ab", [steps.softmax.maximum], b.empty([4, 4], "f64"), lambda x: x)
        steps.output.owner.operands[2] = spread
        steps.output.owner.operation.move_after(spread.owner.operation)
        return [steps.output]

    reason = refused_product([0, 0, 2], build=build)
    assert "attn.batch_matmul needs its maximum, too, which is known last" in reason


def test_a_loop_inside_the_reduction_must_cut_the_rows():
    reason = refused_product([0, 2, 2], [2, 1, 0])
    assert "loop 1 inside the reduction does not cut its rows" in reason


def test_parallel_tiles_inside_a_reduction_are_not_shifted():
    reason = refused_product([3, 0, 2], [2, 1, 0], ragged=Ragged.SHIFTED)
    assert "a shifted tile of a parallel loop inside a reduction loop would be accumulated twice" in reason


def test_a_shifted_tile_does_not_continue_from_what_is_written():
    problem = Attention(queries=4, keys=6, accumulates=True)
    reason = refused_product([3, 0, 0], problem=problem, ragged=Ragged.SHIFTED)
    assert "a shifted tile would continue from what the tile before has written" in reason


def test_a_rest_of_unknown_length_is_not_peeled():
    problem = Attention(queries=4, keys=6, dynamic=frozenset({"keys"}))
    reason = refused_product([0, 0, 2], problem=problem, ragged=Ragged.PEELED)
    assert "a rest can only be peeled where the length is static" in reason


def test_a_kept_intermediate_must_be_something_that_the_tiles_need():
    with mlir_context():
        module = payload(
            [*SMALL.arguments(), Argument((4, 6))],
            [SMALL.output_shape, (4, 6)],
            lambda *values: [SMALL.build(*values[:3]).output, doubled(values[3])],
        )
        other = within(module, "linalg.generic")[-1].results[0]
        root = within(module, "attn.batch_matmul")[-1]
        reason = refusal(module, root, [0, 0, 2], keep_intermediates=[other])
    assert "the intermediate tensor<4x6xf64> is not among what its tiles need" in reason


def test_part_of_the_probabilities_needs_a_running_softmax():
    """Tiling the keys as a parallel loop would need whole rows in every tile."""
    with mlir_context():
        module = payload(
            SMALL.arguments(),
            [(4, 6)],
            lambda *values: [doubled(SMALL.build(*values).softmax.probability)],
        )
        root = within(module, "linalg.generic")[-1]
        reason = refusal(module, root, [0, 2])
    assert "a tile of its probabilities along the reduced dimension needs the whole dimension" in reason


def test_only_structured_operations_are_tiled():
    def build(x):
        return [tensor.cast(ir.RankedTensorType.get([4, 6], ir.F64Type.get()), x)]

    with mlir_context():
        module = payload([Argument((4, 6), frozenset({0}))], [(4, 6)], build)
        reason = refusal(module, within(module, "tensor.cast")[0], [2, 2])
    assert reason.endswith("it is not a structured operation with loops that can be tiled")


def test_a_reduction_must_continue_from_an_initial_value():
    with mlir_context():
        module = payload(
            [Argument((4, 6)), Argument((4,))],
            [(4,)],
            lambda x, start: [b.structured("ab->a", [x], start, lambda e, t: arith.mulf(e, e))],
        )
        reason = refusal(module, within(module, "linalg.generic")[0], [0, 2])
    assert reason.endswith("its reduction does not continue from an initial value")


def test_matrices_keep_their_rows_and_columns():
    reason = refused_product([1, 0, 0], drop=frozenset({0}))
    assert "only its batch dimensions can be left out of a tile" in reason


def test_rows_that_are_reduced_stay_in_the_tile_of_a_softmax():
    def build(x):
        rows = b.filled(0.0, [4], "f64")
        out = b.empty([4, 1], "f64")
        softmax = attn.softmax(x, out, rows, rows, b.empty([4], "f64"), dimension=1)
        return [doubled(softmax.probability)]

    with mlir_context():
        module = payload([Argument((4, 1))], [(4, 1)], build)
        root = within(module, "linalg.generic")[0]
        reason = refusal(module, root, [2, 1], options=TileOptions(drop=frozenset({1})))
    assert "a tile of its probabilities along the reduced dimension needs the whole dimension" in reason


def test_masks_fill_with_minus_infinity_where_softmaxes_repeat_keys():
    with mlir_context():
        module = SMALL.module()
        root = within(module, "attn.batch_matmul")[-1]
        tile_and_fuse(root, [0, 0, 4], options=TileOptions(ragged=Ragged.SHIFTED))
        assert [attn.Mask(mask).fill for mask in within(module, "attn.mask")] == [-math.inf]


def test_probabilities_of_a_running_softmax_cannot_be_kept():
    """What a key tile sees of them is relative to the keys so far, not to all of them."""
    with mlir_context():
        module = SMALL.module()
        kept = within(module, "attn.softmax")[0].results[0]
        root = within(module, "attn.batch_matmul")[-1]
        reason = refusal(module, root, [0, 0, 2], keep_intermediates=[kept])
    assert "cannot be kept: its tiles are relative to the maximum and total of the keys so far" in reason


def test_what_has_been_tiled_is_gone():
    with mlir_context():
        module = SMALL.module()
        root = within(module, "attn.batch_matmul")[-1]
        nest = tile_and_fuse(root, [2, 0, 0])
        with pytest.raises(InputError, match="it is gone, because it has been tiled"):
            tile_and_fuse(root, [2, 0, 0])
        assert tile_and_fuse(nest.roots[0], [0, 0, 2]).loops


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tile_sizes": [4.5, 0, 0]}, "tile_sizes: found 4.5, expected a whole number"),
        ({"stop": ["softmax"]}, "stop: found str, expected an operation"),
        ({"keep_intermediates": ["scores"]}, "keep_intermediates: found str, expected a value"),
    ],
)
def test_arguments_of_another_kind_are_named(arguments, message):
    with mlir_context():
        module = SMALL.module()
        before = str(module)
        with pytest.raises(InputError, match=re.escape(message)):
            tile_and_fuse(within(module, "attn.batch_matmul")[-1], **{"tile_sizes": [0, 0, 2], **arguments})
        assert str(module) == before


def test_an_unknown_policy_for_ragged_tiles_is_named():
    assert TileOptions(ragged="peeled").ragged is Ragged.PEELED
    with pytest.raises(
        InputError, match="ragged: found 'nonsense', expected one of partial, shifted, peeled"
    ):
        TileOptions(ragged="nonsense")

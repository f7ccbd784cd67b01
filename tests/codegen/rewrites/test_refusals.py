"""What is refused, with the operation and the reason; the IR is then as it was."""

import pytest
from codegen.rewrites.attention_ir import Attention, doubled
from codegen.rewrites.execution import payload, within
from mlir.dialects import arith

from harness.codegen.dialect import operations as attn
from harness.codegen.dialect.context import mlir_context
from harness.codegen.ir import builder as b
from harness.codegen.rewrites.errors import RewriteRefusedError
from harness.codegen.rewrites.tile_and_fuse import TileOptions, tile_and_fuse

SMALL = Attention(queries=4, keys=6)


def refusal(module, root, *arguments, **keywords):
    """Return why tiling is refused; asserts that it leaves the IR alone."""
    before = str(module)
    with pytest.raises(RewriteRefusedError) as refused:
        tile_and_fuse(root, *arguments, **keywords)
    assert str(module) == before
    assert str(refused.value).startswith(f"{root.name} (tensor<") or "attn." in str(refused.value)
    return str(refused.value)


def output(*values):
    return [SMALL.build(*values).output]


def probabilities_used_twice(*values):
    steps = SMALL.build(*values)
    return [steps.output, doubled(steps.softmax.probability)]


def something_between(*values):
    steps = SMALL.build(*values)
    between = doubled(steps.softmax.probability)
    steps.output.owner.operands[0] = between
    steps.output.owner.operation.move_after(between.owner.operation)
    return [steps.output]


def probabilities_on_the_right(query, key, value):
    steps = SMALL.build(query, key, value)
    steps.output.owner.operation.erase()
    zeros = b.filled(0.0, [4, 4], "f64")
    return [attn.batch_matmul(value, steps.softmax.probability, zeros, "tt").product]


def correction_used(*values):
    steps = SMALL.build(*values)
    return [steps.output, steps.softmax.correction]


def maximum_needed(query, key, value):
    steps = SMALL.build(query, key, value)
    spread = b.structured("a->ab", [steps.softmax.maximum], b.empty([4, 4], "f64"), lambda x: x)
    steps.output.owner.operands[2] = spread
    steps.output.owner.operation.move_after(spread.owner.operation)
    return [steps.output]


@pytest.mark.parametrize(
    ("sizes", "order", "options", "reason"),
    [
        ([2, 0, 2], None, {"grid": 2}, "a grid of 2 loops; expected all 1 parallel loops"),
        ([1, 0, 0], None, {"drop": frozenset({0})}, "only its batch dimensions can be left out of a tile"),
    ],
)
def test_loops_that_do_not_fit_the_product_with_v(sizes, order, options, reason):
    with mlir_context():
        module = SMALL.module()
        root = within(module, "attn.batch_matmul")[-1]
        assert reason in refusal(module, root, sizes, order, options=TileOptions(**options))


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (probabilities_used_twice, "its probabilities have 2 consumers (attn.batch_matmul, "),
        (something_between, "its consumer linalg.generic is not the tiled root attn.batch_matmul"),
        (probabilities_on_the_right, "cannot be rescaled row by row: expected attn.batch_matmul"),
        (correction_used, "its correction (result #3) is used; a running softmax needs it"),
        (maximum_needed, "attn.batch_matmul needs its maximum, too, which is known last"),
    ],
)
def test_uses_that_a_running_softmax_does_not_have(build, reason):
    with mlir_context():
        module = payload(SMALL.arguments(), build)
        assert reason in refusal(module, within(module, "attn.batch_matmul")[-1], [0, 0, 2])


def test_probabilities_must_be_reduced_along_the_dimension_of_their_softmax():
    """The softmax runs down the columns, the product along the rows."""

    def build(x, value):
        out, rows = b.empty([4, 6], "f64"), b.filled(0.0, [6], "f64")
        softmax = attn.softmax(x, out, rows, rows, b.empty([6], "f64"), dimension=0)
        zeros = b.filled(0.0, [4, 4], "f64")
        return [attn.batch_matmul(softmax.probability, value, zeros).product]

    with mlir_context():
        module = payload([(4, 6), (6, 4)], build)
        # Columns are independent, so that cutting them is no question of a running softmax.
        tile_and_fuse(within(module, "attn.batch_matmul")[-1], [0, 0, 2])
        assert len(within(module, "attn.diag")) == 0
        module = payload([(4, 6), (6, 4)], build)
        assert "a tile of its probabilities along the reduced dimension needs the whole" in refusal(
            module, within(module, "attn.batch_matmul")[-1], [2, 0, 0]
        )


def test_a_reduction_that_does_not_continue_from_an_initial_value_cannot_be_tiled():
    def sum_of_squares(x):
        return [b.structured("ab->a", [x], b.filled(0.0, [4], "f64"), lambda e, _: arith.mulf(e, e))]

    with mlir_context():
        module = payload([(4, 6)], sum_of_squares)
        reason = refusal(module, within(module, "linalg.generic")[0], [0, 2])
    assert "does not continue from an initial value" in reason


def test_the_reduced_dimension_of_a_root_softmax_cannot_be_tiled():
    with mlir_context():
        module = SMALL.module()
        reason = refusal(module, within(module, "attn.softmax")[0], [0, 2])
    assert reason.startswith("attn.softmax (tensor<4x6xf64>, …): its reduced dimension cannot be tiled")


def test_part_of_the_probabilities_needs_a_running_softmax():
    """Tiling the keys as a parallel loop would need whole rows in every tile."""
    with mlir_context():
        module = payload(
            SMALL.arguments(), lambda *values: [doubled(SMALL.build(*values).softmax.probability)]
        )
        reason = refusal(module, within(module, "linalg.generic")[-1], [0, 2])
    assert "a tile of its probabilities along the reduced dimension needs the whole dimension" in reason


def test_probabilities_of_a_running_softmax_cannot_be_kept():
    """What a key tile sees of them is relative to the keys so far, not to all of them."""
    with mlir_context():
        module = SMALL.module()
        kept = within(module, "attn.softmax")[0].results[0]
        root = within(module, "attn.batch_matmul")[-1]
        reason = refusal(module, root, [0, 0, 2], keep_intermediates=[kept])
    assert "cannot be kept: its tiles are relative to the maximum and total of the keys so far" in reason

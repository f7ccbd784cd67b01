"""Where a softmax divides and scales: the same result at less cost."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rewrites.attention_ir import LOWEST, Attention, doubled, scaled
from rewrites.comparing import close
from rewrites.execution import Argument, execute, payload, within

from harness.dialect import operations as attn
from harness.dialect.context import mlir_context
from harness.ir import builder as b
from harness.rewrites.errors import RewriteRefusedError
from harness.rewrites.normalization import absorb_scale, defer_division, shift_probabilities, softmaxes
from harness.rewrites.simplifications import fold_diagonal_products
from harness.rewrites.tile_and_fuse import tile_and_fuse

LENGTHS = st.integers(1, 6)


@settings(max_examples=15)
@given(
    st.builds(
        Attention,
        leading=st.sampled_from([(), (2,)]),
        queries=LENGTHS,
        keys=LENGTHS,
        factor=st.sampled_from([None, 0.5]),
        shift=st.sampled_from([None, -2]),
        continued=st.booleans(),
        dynamic=st.frozensets(st.sampled_from(["queries", "keys"])),
    ),
    st.booleans(),
)
def test_dividing_rows_of_the_product_is_dividing_probabilities(problem, is_tiled):
    inputs = problem.inputs()
    with mlir_context():
        module = problem.module()
        division = defer_division(softmaxes(module)[0])
        assert division.name == "linalg.generic"
        assert [softmax.name for softmax in softmaxes(module)] == ["attn.unnormalized_softmax"]
        if is_tiled:
            sizes = [0] * len(problem.leading) + [2, 0, 2]
            tile_and_fuse(within(module, "attn.batch_matmul")[-1], sizes)
        (found,) = execute(module, inputs)
    close(found, problem.reference(*inputs).output)


def refused(build, arguments, results=((4, 4),)):
    with mlir_context():
        module = payload([Argument(shape) for shape in arguments], results, build)
        with pytest.raises(RewriteRefusedError) as refusal:
            defer_division(softmaxes(module)[0])
    return str(refusal.value)


SMALL = Attention(queries=4, keys=6)
SHAPES = [argument.shape for argument in SMALL.arguments()]


def test_division_is_not_deferred_past_another_consumer():
    def build(*values):
        steps = SMALL.build(*values)
        return [steps.output, doubled(steps.softmax.probability)]

    reason = refused(build, SHAPES, ((4, 4), (4, 6)))
    assert "consumed by attn.batch_matmul, linalg.generic; expected one attn.batch_matmul" in reason


def test_division_is_not_deferred_past_a_product_from_the_left():
    """There rows of probabilities are columns of the result."""

    def build(query, key, value):
        steps = SMALL.build(query, key, value)
        steps.output.owner.operation.erase()
        zeros = b.filled(0.0, [4, 4], "f64")
        return [attn.batch_matmul(value, steps.softmax.probability, zeros, "tt").product]

    assert "that has them as its lhs and reduces their rows" in refused(build, SHAPES)


def test_division_is_not_deferred_past_something_that_is_added():
    problem = Attention(queries=4, keys=6, accumulates=True)
    shapes = [argument.shape for argument in problem.arguments()]
    reason = refused(lambda *values: [problem.build(*values).output], shapes)
    assert reason.endswith("its initial value is not a fill with 0")


def test_division_is_not_deferred_if_the_correction_is_used():
    def build(*values):
        steps = SMALL.build(*values)
        return [steps.output, steps.softmax.correction]

    assert "its correction is used" in refused(build, SHAPES, ((4, 4), (4,)))


@settings(max_examples=15)
@given(
    st.builds(
        Attention,
        queries=LENGTHS,
        keys=LENGTHS,
        scale=st.sampled_from([1.0, 0.5]),
        factor=st.sampled_from([None, 0.25, -0.5, 0.0]),
        shift=st.sampled_from([None, 0, -2]),
        continued=st.booleans(),
        dynamic=st.frozensets(st.sampled_from(["queries", "keys"])),
    )
)
def test_a_positive_factor_of_the_scores_moves_into_the_exponent(problem):
    inputs = problem.inputs()
    with mlir_context():
        module = problem.module()
        softmax = softmaxes(module)[0]
        is_absorbed = absorb_scale(softmax)
        assert is_absorbed == (problem.factor == 0.25 and not problem.continued)
        assert attn.Softmax(softmax).scale == problem.scale * (0.25 if is_absorbed else 1.0)
        (found,) = execute(module, inputs)
    close(found, problem.reference(*inputs).output)


def test_what_uses_the_maximum_multiplies_it_by_the_factor_that_moves():
    problem = Attention(queries=4, keys=6, factor=0.5)
    inputs = problem.inputs()

    def build(*values):
        steps = problem.build(*values)
        return [steps.output, steps.softmax.maximum]

    with mlir_context():
        module = payload(problem.arguments(), [(4, 4), (4,)], build)
        assert absorb_scale(softmaxes(module)[0])
        output, maximum = execute(module, inputs)
    close(output, problem.reference(*inputs).output)
    close(maximum, 0.5 * (inputs[0] @ inputs[1].T).max(axis=1))


def test_a_factor_stays_where_masked_scores_are_used_otherwise():
    problem = Attention(queries=4, keys=6, factor=0.5, shift=0)

    def build(*values):
        steps = problem.build(*values)
        return [steps.output, doubled(steps.score)]

    with mlir_context():
        module = payload(problem.arguments(), [(4, 4), (4, 6)], build)
        assert not absorb_scale(softmaxes(module)[0])


def test_only_a_factor_of_the_scores_as_they_lie_moves():
    """Scaling and transposing at once is not a scale."""
    with mlir_context():

        def build(x):
            transposed = scaled(x, 0.5)
            generic = transposed.owner
            from mlir import ir

            swapped = ir.AffineMap.get_permutation([1, 0])
            generic.attributes["indexing_maps"] = ir.ArrayAttr.get(
                [ir.AffineMapAttr.get(swapped), ir.AffineMapAttr.get(ir.AffineMap.get_identity(2))]
            )
            rows = b.filled(LOWEST, [4], "f64")
            zeros = b.filled(0.0, [4], "f64")
            out = b.empty([4, 4], "f64")
            return [attn.softmax(transposed, out, rows, zeros, b.empty([4], "f64"), dimension=1).probability]

        module = payload([Argument((4, 4))], [(4, 4)], build)
        assert not absorb_scale(softmaxes(module)[0])


@settings(max_examples=20)
@given(
    st.builds(
        Attention,
        leading=st.sampled_from([(), (2,)]),
        queries=LENGTHS,
        keys=LENGTHS,
        scale=st.sampled_from([1.0, 0.5, 100.0]),
        shift=st.sampled_from([None, -2]),
    ),
    st.booleans(),
    st.booleans(),
)
def test_shifted_probabilities_weigh_the_same(problem, divides_once, is_tiled):
    inputs = problem.inputs()

    def build(*values):
        steps = problem.build(*values)
        total = steps.softmax.total
        return [steps.output, scaled(total, 1.0)]

    with mlir_context():
        module = payload(problem.arguments(), [problem.output_shape, problem.output_shape[:-1]], build)
        shift_probabilities(softmaxes(module)[0], 11)
        if divides_once:
            defer_division(softmaxes(module)[0])
        if is_tiled:
            sizes = [0] * len(problem.leading) + [2, 0, 2]
            tile_and_fuse(within(module, "attn.batch_matmul")[-1], sizes)
        output, total = execute(module, inputs)
    expected = problem.reference(*inputs)
    close(output, expected.output)
    close(total, expected.softmax.total)


@pytest.mark.parametrize(("layout", "folds"), [("nn", True), ("tn", True), ("nt", False)])
@pytest.mark.parametrize("starts_from_zero", [True, False])
def test_a_product_with_a_diagonal_matrix_is_a_scaling_of_rows(layout, folds, starts_from_zero):
    rng = np.random.default_rng(1)
    factor, x, start = rng.normal(size=(2, 3)), rng.normal(size=(2, 3, 3)), rng.normal(size=(2, 3, 3))
    with mlir_context():

        def build(factor, x, start):
            matrix = attn.diag(factor, b.empty([2, 3, 3], "f64")).matrix
            init = b.filled(0.0, [2, 3, 3], "f64") if starts_from_zero else start
            return [attn.batch_matmul(matrix, x, init, layout).product]

        module = payload([Argument(each.shape) for each in (factor, x, start)], [x.shape], build)
        assert fold_diagonal_products(module) == (1 if folds and starts_from_zero else 0)
        assert len(within(module, "attn.diag")) == (0 if folds and starts_from_zero else 1)
        (found,) = execute(module, [factor, x, start])
    expected = factor[..., None] * (x if folds else np.swapaxes(x, 1, 2))
    close(found, expected + (0 if starts_from_zero else start))

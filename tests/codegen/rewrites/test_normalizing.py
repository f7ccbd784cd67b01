"""Where a softmax divides and scales: the same result at less cost."""

import re

import numpy as np
import pytest
from codegen.rewrites.attention_ir import Attention, doubled, scaled
from codegen.rewrites.execution import close, execute, payload, within
from codegen.rewrites.test_refusals import (
    SMALL,
    correction_used,
    probabilities_on_the_right,
    probabilities_used_twice,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.codegen.dialect import operations as attn
from harness.codegen.dialect.context import mlir_context
from harness.codegen.ir import builder as b
from harness.codegen.rewrites.errors import RewriteRefusedError
from harness.codegen.rewrites.normalization import (
    absorb_scale,
    defer_division,
    shift_probabilities,
    softmaxes,
)
from harness.codegen.rewrites.simplifications import fold_diagonal_products
from harness.codegen.rewrites.tile_and_fuse import tile_and_fuse

LENGTHS = st.integers(1, 6)


@settings(max_examples=10)
@given(
    st.builds(
        Attention,
        leading=st.sampled_from([(), (2,)]),
        queries=LENGTHS,
        keys=LENGTHS,
        factor=st.sampled_from([None, 0.5]),
        shift=st.sampled_from([None, -2]),
        continued=st.booleans(),
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
            sizes = [0] * len(problem.leading) + [1, 0, 2]
            tile_and_fuse(within(module, "attn.batch_matmul")[-1], sizes)
        (result,) = execute(module, inputs)
    close(result, problem.reference(*inputs).output)


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (
            probabilities_used_twice,
            "consumed by attn.batch_matmul, linalg.generic; expected one attn.batch_matmul",
        ),
        (probabilities_on_the_right, "that has them as its lhs and reduces their rows"),
        (correction_used, "its correction is used"),
    ],
)
def test_division_is_not_deferred_past_other_uses(build, reason):
    with mlir_context():
        module = payload(SMALL.arguments(), build)
        with pytest.raises(RewriteRefusedError, match=re.escape(reason)):
            defer_division(softmaxes(module)[0])


def test_division_is_not_deferred_past_something_that_is_added():
    with mlir_context():
        module = Attention(queries=4, keys=6, accumulates=True).module()
        with pytest.raises(RewriteRefusedError, match="its initial value is not a fill with 0"):
            defer_division(softmaxes(module)[0])


@settings(max_examples=10)
@given(
    st.builds(
        Attention,
        queries=LENGTHS,
        keys=LENGTHS,
        scale=st.sampled_from([1.0, 0.5]),
        factor=st.sampled_from([None, 0.25, -0.5, 0.0]),
        shift=st.sampled_from([None, 0, -2]),
        continued=st.booleans(),
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
        (result,) = execute(module, inputs)
    close(result, problem.reference(*inputs).output)


def test_a_factor_stays_where_masked_scores_are_used_otherwise():
    problem = Attention(queries=4, keys=6, factor=0.5, shift=0)

    def build(*values):
        steps = problem.build(*values)
        return [steps.output, doubled(steps.score)]

    with mlir_context():
        module = payload(problem.arguments(), build)
        assert not absorb_scale(softmaxes(module)[0])


@settings(max_examples=12)
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
        module = payload(problem.arguments(), build)
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

        module = payload([each.shape for each in (factor, x, start)], build)
        assert fold_diagonal_products(module) == (1 if folds and starts_from_zero else 0)
        assert len(within(module, "attn.diag")) == (0 if folds and starts_from_zero else 1)
        (result,) = execute(module, [factor, x, start])
    expected = factor[..., None] * (x if folds else np.swapaxes(x, 1, 2))
    close(result, expected + (0 if starts_from_zero else start))

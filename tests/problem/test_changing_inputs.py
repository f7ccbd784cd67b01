"""Inputs that change between samples, and whose right output is known nevertheless."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from sweeps import sweep

from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.changing_inputs import NEGATED, TURNED, ChangingInputs, change_operands
from harness.problem.inputs import Inputs, make_inputs

PLAIN = AttentionProblem(heads=2, seq_q=5, head_dim=4)
PROJECTED = AttentionProblem(heads=2, seq_q=5, head_dim=4, model_width=6, output_projection=True)
FORMS = AttentionProblem(
    heads=2, seq_q=5, head_dim=4, mask=True, bias=True, sinks=True, softcap=3.0, log_sum_exp=True
)
PACKED = AttentionProblem(heads=2, head_dim=4, cu_seqlens_q=(0, 3, 7), cu_seqlens_kv=(0, 4, 9))


def contents(inputs: Inputs) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in inputs.arrays().items()}


@pytest.mark.parametrize("problem", [PLAIN, PROJECTED, FORMS], ids=["plain", "projected", "forms"])
@pytest.mark.parametrize("dtype", sweep(["f32", "f16", "bf16"], but=["f32"]))
def test_the_right_output_of_negated_inputs_is_negated(problem, dtype):
    problem = problem.model_copy(update={"dtype": dtype})
    inputs = make_inputs(problem)
    right = expect(inputs, problem)
    changing = ChangingInputs(inputs)
    changing.become(NEGATED)
    assert changing.is_negated
    other = expect(inputs, problem)
    assert np.allclose(other.reference, -right.reference, rtol=1e-12, atol=1e-12)
    assert np.allclose(other.log_sum_exp, right.log_sum_exp, rtol=1e-12)


@pytest.mark.parametrize("problem", [PLAIN, PROJECTED, FORMS], ids=["plain", "projected", "forms"])
def test_turned_inputs_have_other_scores_of_the_same_size(problem):
    drawn, inputs = expect(make_inputs(problem), problem), make_inputs(problem)
    ChangingInputs(inputs).become(TURNED)
    turned = expect(inputs.as_expected(problem), problem)
    assert np.all(turned.tolerance <= 64 * drawn.tolerance)
    assert not np.allclose(np.abs(turned.reference), np.abs(drawn.reference), rtol=1e-2)


@pytest.mark.parametrize(("dtype", "factor", "grows"), [("f32", 1e4, 4), ("f16", 1, 4), ("f16", 2e4, 1)])
def test_turned_values_are_larger_where_their_type_has_room(dtype, factor, grows):
    inputs = make_inputs(PLAIN.model_copy(update={"dtype": dtype}))
    inputs.v[:] *= inputs.v.dtype.type(factor)
    before = {name: np.abs(array[..., 1:, :]) for name, array in inputs.arrays().items()}
    ChangingInputs(inputs).become(TURNED)
    for name, array in inputs.arrays().items():
        np.testing.assert_array_equal(
            np.abs(array[..., 1:, :]), before[name] * np.float16(grows if name == "v" else 1)
        )


@pytest.mark.parametrize("problem", [PLAIN, PROJECTED, PACKED], ids=["plain", "projected", "packed"])
def test_turned_inputs_begin_as_drawn(problem):
    inputs = make_inputs(problem)
    names = ("q", "k", "v") if problem.model_width is None else ("tokens",)
    rows = 0 if problem.is_packed else (slice(None), 0) if names == ("tokens",) else (..., 0, slice(None))
    drawn = {name: inputs.arrays()[name].copy() for name in names}
    ChangingInputs(inputs).become(TURNED)
    for name in names:
        array = inputs.arrays()[name]
        assert np.array_equal(array[rows], drawn[name][rows])
        assert (array != drawn[name]).mean() > 0.3


@pytest.mark.parametrize("problem", [PLAIN, PROJECTED, PACKED], ids=["plain", "projected", "packed"])
@given(numbers=st.lists(st.integers(-3, 1000), max_size=8))
@settings(max_examples=30)
def test_what_was_drawn_comes_back(problem, numbers):
    inputs = make_inputs(problem)
    drawn = contents(inputs)
    changing = ChangingInputs(inputs)
    for number in numbers:
        if number < 0:
            changing.become(-number)
        else:
            changing.refresh(number)
    changing.become(0)
    assert contents(inputs) == drawn


@pytest.mark.parametrize("problem", [FORMS, PROJECTED], ids=["forms", "projected"])
def test_each_turn_has_other_operands(problem):
    drawn, first, second = (make_inputs(problem) for _ in range(3))
    change_operands(first, problem, 0, 1)
    change_operands(second, problem, 0, 2)
    for name in drawn.arrays().keys() - {"q", "k", "v", "tokens"}:
        versions = [inputs.arrays()[name].tobytes() for inputs in (drawn, first, second)]
        assert len(set(versions)) == 3, name


def test_refreshed_inputs_are_new_each_time():
    inputs = make_inputs(PLAIN)
    drawn = contents(inputs)
    changing, seen = ChangingInputs(inputs), [drawn]
    for number in range(20):
        changing.refresh(number)
        assert contents(inputs) not in seen
        assert all(contents(inputs)[name] != drawn[name] for name in ("q", "k", "v"))
        seen.append(contents(inputs))

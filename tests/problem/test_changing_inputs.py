"""Inputs that change between samples, and whose right output is known nevertheless."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from sweeps import sweep

from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.changing_inputs import (
    EXACT,
    TURNED,
    ChangingInputs,
    change_operands,
    inputs_as_expected,
)
from harness.problem.inputs import Inputs, make_inputs

PLAIN = AttentionProblem(heads=2, seq_q=5, head_dim=4)
PROJECTED = AttentionProblem(heads=2, seq_q=5, head_dim=4, model_width=6, output_projection=True)
FORMS = AttentionProblem(
    heads=2, seq_q=5, head_dim=4, mask=True, bias=True, sinks=True, softcap=3.0, log_sum_exp=True
)


def contents(inputs: Inputs) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in inputs.arrays().items()}


@pytest.mark.parametrize("problem", [PLAIN, PROJECTED, FORMS], ids=["plain", "projected", "forms"])
@pytest.mark.parametrize("dtype", sweep(["f32", "f16", "bf16"], but=["f32"]))
def test_with_the_other_sign_the_right_output_has_the_other_sign(problem, dtype):
    problem = problem.model_copy(update={"dtype": dtype})
    inputs = make_inputs(problem)
    right = expect(inputs, problem)
    changing = ChangingInputs(inputs)
    changing.become(1)
    assert changing.is_negated
    other = expect(inputs, problem)
    assert np.allclose(other.reference, -right.reference, rtol=1e-12, atol=1e-12)
    if right.log_sum_exp is not None:
        assert np.allclose(other.log_sum_exp, right.log_sum_exp, rtol=1e-12)


@pytest.mark.parametrize("problem", [PLAIN, PROJECTED, FORMS], ids=["plain", "projected", "forms"])
def test_turned_inputs_have_other_scores_and_what_is_expected_of_them_has_the_other_sign(problem):
    drawn = expect(make_inputs(problem), problem)
    expected = expect(inputs_as_expected(make_inputs(problem), problem, TURNED), problem)
    changing = ChangingInputs(make_inputs(problem))
    changing.become(TURNED)
    given = expect(changing.inputs, problem)
    assert changing.is_negated
    assert np.allclose(given.reference, -expected.reference, rtol=1e-12, atol=1e-12)
    assert np.all(expected.tolerance <= 64 * drawn.tolerance)
    assert not np.allclose(np.abs(given.reference), np.abs(drawn.reference), rtol=1e-2)


def largest(array: np.ndarray) -> np.ndarray:
    """Return the largest magnitude of all rows but the first ones, which stay."""
    return np.abs(array[..., 1:, :]).max()


@pytest.mark.parametrize(("dtype", "factor", "grows"), [("f32", 1e4, 4), ("f16", 1, 4), ("f16", 2e4, 1)])
def test_turned_values_are_larger_where_their_type_has_room(dtype, factor, grows):
    inputs = make_inputs(PLAIN.model_copy(update={"dtype": dtype}))
    inputs.v[:] *= inputs.v.dtype.type(factor)
    drawn, before = {name: largest(array) for name, array in inputs.arrays().items()}, contents(inputs)
    changing = ChangingInputs(inputs)
    changing.become(TURNED)
    found = {name: largest(array) / drawn[name] for name, array in inputs.arrays().items()}
    assert found == {"q": 1, "k": 1, "v": grows}
    changing.become(0)
    assert contents(inputs) == before


@pytest.mark.parametrize("problem", [PLAIN, PROJECTED], ids=["plain", "projected"])
@given(numbers=st.lists(st.integers(0, 1000), max_size=8))
@settings(max_examples=30)
def test_what_was_drawn_comes_back(problem, numbers):
    inputs = make_inputs(problem)
    drawn = contents(inputs)
    changing = ChangingInputs(inputs)
    for number in numbers:
        changing.become(number)
        assert changing.is_negated == number % 2
    changing.become(0)
    assert contents(inputs) == drawn


PACKED = AttentionProblem(heads=2, head_dim=4, cu_seqlens_q=(0, 3, 7), cu_seqlens_kv=(0, 4, 9))


@pytest.mark.parametrize("problem", [PLAIN, PROJECTED, PACKED], ids=["plain", "projected", "packed"])
def test_turned_inputs_begin_as_drawn(problem):
    inputs = make_inputs(problem)
    names = ("q", "k", "v") if problem.model_width is None else ("tokens",)
    rows = 0 if problem.is_packed else (slice(None), 0) if names == ("tokens",) else (..., 0, slice(None))
    drawn = {name: inputs.arrays()[name].copy() for name in names}
    ChangingInputs(inputs).become(TURNED)
    for name in names:
        found = inputs.arrays()[name]
        assert np.array_equal(found[rows], drawn[name][rows])
        assert (found != drawn[name]).mean() > 0.3


@pytest.mark.parametrize("problem", [FORMS, PROJECTED], ids=["forms", "projected"])
def test_operands_are_spoilt_until_inputs_change_again(problem):
    inputs = make_inputs(problem)
    drawn, changing = contents(inputs), ChangingInputs(inputs)
    operands = drawn.keys() - {"q", "k", "v", "tokens"}
    changing.become(1)
    changing.become(EXACT, spoils_operands=True)
    assert operands
    assert not [name for name in operands if contents(inputs)[name] == drawn[name]]
    changing.become(1)
    assert not [name for name in operands if contents(inputs)[name] != drawn[name]]
    changing.become(0)
    assert contents(inputs) == drawn


@pytest.mark.parametrize("problem", [FORMS, PROJECTED], ids=["forms", "projected"])
def test_operands_keep_their_beginnings_in_the_first_turn_and_weights_of_values_are_larger(problem):
    drawn, first, second = (make_inputs(problem) for _ in range(3))
    change_operands(first, problem, 0, 1)
    change_operands(second, problem, 0, 2)
    for name in drawn.arrays().keys() - {"q", "k", "v", "tokens", "sinks"}:
        before, one, two = (inputs.arrays()[name] for inputs in (drawn, first, second))
        assert np.array_equal(before[..., 0, :], one[..., 0, :])
        assert not np.array_equal(before, one)
        if before.dtype != np.bool_:
            assert not np.array_equal(before[..., 0, :], two[..., 0, :])
            factor = 2 if name in ("value_weights", "output_weights") else 1
            assert 0.6 * factor < np.std(one[..., 1:, :]) / np.std(two) < 1.5 * factor


def test_refreshed_inputs_are_new_each_time_and_as_drawn_when_they_are_to_be():
    inputs = make_inputs(PLAIN)
    drawn = contents(inputs)
    changing = ChangingInputs(inputs)
    seen = [drawn]
    for number in range(20):
        changing.refresh(number)
        assert contents(inputs) not in seen
        assert all(contents(inputs)[name] != drawn[name] for name in ("q", "k", "v"))
        seen.append(contents(inputs))
    changing.become(0)
    assert contents(inputs) == drawn

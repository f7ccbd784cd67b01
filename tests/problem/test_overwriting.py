"""Which inputs can be copied to the arrays that a call is bound to."""

from dataclasses import replace

import pytest

from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import Inputs, make_inputs
from harness.problem.overwriting import can_be_overwritten

PROBLEM = AttentionProblem(heads=2, seq_q=8, head_dim=4, mask=True, bias=True)
PROJECTED = AttentionProblem(heads=2, seq_q=8, head_dim=4, model_width=8)
OTHERS = make_inputs(PROBLEM, seed=1)


@pytest.fixture
def bound() -> Inputs:
    return make_inputs(PROBLEM)


def with_operands_of(bound: Inputs, given: Inputs) -> Inputs:
    return replace(given, mask=bound.mask, bias=bound.bias)


def test_arrays_of_their_own_have_room_for_others(bound):
    assert can_be_overwritten(bound, with_operands_of(bound, OTHERS))
    assert can_be_overwritten(bound, bound)
    assert can_be_overwritten(bound, replace(bound, v=OTHERS.v))


@pytest.mark.parametrize("shared", ["qk", "kv", "qv"])
def test_arrays_that_share_memory_have_no_room(bound, shared):
    one, other = shared
    aliased = replace(bound, **{other: getattr(bound, one)[::-1]})
    assert not can_be_overwritten(aliased, with_operands_of(bound, OTHERS))
    assert can_be_overwritten(aliased, aliased)


def test_arrays_that_are_read_only_have_no_room(bound):
    bound.k.flags.writeable = False
    assert not can_be_overwritten(bound, with_operands_of(bound, OTHERS))
    assert can_be_overwritten(bound, replace(with_operands_of(bound, OTHERS), k=bound.k))


@pytest.mark.parametrize("operand", ["mask", "bias"])
def test_another_mask_or_bias_has_none(bound, operand):
    assert not can_be_overwritten(bound, replace(bound, **{operand: getattr(OTHERS, operand)}))


def test_other_tokens_have_room_and_other_weights_have_none():
    bound, given = (make_inputs(PROJECTED, seed=seed) for seed in (0, 1))
    assert bound.projections is not None
    assert given.projections is not None
    tokens = replace(bound.projections, tokens=given.projections.tokens)
    assert can_be_overwritten(bound, replace(given, projections=tokens))
    assert not can_be_overwritten(bound, given)

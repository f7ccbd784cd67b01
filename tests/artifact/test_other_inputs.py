"""Calls that take other inputs compute what a call that is bound to them computes."""

import numpy as np
import pytest
from sweeps import sweep
from test_calls_of_ranks import PROBLEM, RANKS, ReferenceCode

import harness
from harness.artifact.bound_call import Executable
from harness.artifact.ranks import RanksExecutable
from harness.problem.attention_problem import AttentionProblem
from harness.problem.changing_inputs import ChangingInputs
from harness.problem.inputs import make_inputs
from harness.problem.outputs import OUTPUT

PLAIN = {"heads": 2, "seq_q": 40, "head_dim": 16}
LENGTHS = {"batch": 2, "kv_lengths": (3, 40)}
PACKED = {"heads": 2, "head_dim": 16, "cu_seqlens_q": (0, 7, 40), "cu_seqlens_kv": (0, 7, 40)}
CASES = [
    ("flash", "cpu", PLAIN, {}),
    ("unfused", "cpu", PLAIN | {"dtype": "bf16"}, {}),
    ("flash", "cpu", PLAIN | {"log_sum_exp": True, **LENGTHS}, {}),
    ("split-head", "cpu", PLAIN | {"model_width": 24}, {}),
    ("split-head", "cpu", PLAIN | {"model_width": 24, "output_projection": True}, {"ranks": 2}),
    (
        "split-head",
        "cpu",
        PLAIN | {"batch": 2, "model_width": 24, "mask": True, "mask_axes": "bhk"},
        {"ranks": 2},
    ),
    ("varlen", "cpu", PACKED, {"page_size": 32}),
    ("padded", "cpu", PACKED, {}),
    ("iree", "cpu", PLAIN, {}),
    ("iree-unfused", "cpu", PLAIN | {"dtype": "f16", **LENGTHS}, {}),
    ("flash", "cuda:sm_80", PLAIN | {"dtype": "f16"}, {}),
    ("varlen", "xegpu:bmg", PACKED | {"dtype": "f16"}, {"page_size": 32}),
]


pytestmark = pytest.mark.usefixtures("built_here")


def outputs_after_a_change(code: Executable, problem: AttentionProblem) -> tuple[np.ndarray, np.ndarray]:
    """Return the output of a call that was given other inputs, and that of one bound to them."""
    inputs = make_inputs(problem)
    call = code.bind(inputs)
    call.run()
    ChangingInputs(inputs).become(3)
    assert call.take_inputs(inputs)
    call.poison_outputs()
    call.run()
    again = code.bind(inputs)
    again.run()
    return call.outputs()[OUTPUT], again.outputs()[OUTPUT]


@pytest.mark.parametrize(
    ("variant", "target", "fields", "params"),
    sweep(CASES, but=[CASES[5], CASES[6], CASES[10]]),
    ids=[f"{variant}-{target}-{number}" for number, (variant, target, *_) in enumerate(CASES)],
)
def test_a_call_takes_other_inputs(variant, target, fields, params):
    problem = AttentionProblem(**fields)
    built = harness.build(problem, variant=variant, target=target, params=params)
    code = built.artifact.load(built.folder)
    found, expected = outputs_after_a_change(code, problem)
    assert np.isfinite(found.astype(np.float32)).all()
    assert found.tobytes() == expected.tobytes()


@pytest.mark.extra("baselines")
@pytest.mark.parametrize(
    ("variant", "fields"),
    [
        ("torch", PLAIN),
        ("torch", PLAIN | LENGTHS | {"dtype": "bf16"}),
        ("torch", PACKED),
        ("torch", PLAIN | {"model_width": 24}),
        ("torch-unfused", PLAIN),
        ("torch-unfused", PLAIN | LENGTHS | {"dtype": "bf16"}),
    ],
    ids=["plain", "lengths", "packed", "projected", "unfused", "unfused-lengths"],
)
def test_a_call_of_torch_takes_other_inputs(variant, fields):
    problem = AttentionProblem(**fields)
    built = harness.build(problem, variant=variant, target="cpu")
    code = built.artifact.load(built.folder)
    found, expected = outputs_after_a_change(code, problem)
    assert found.tobytes() == expected.tobytes()


def test_each_rank_takes_its_share_or_all_are_bound_anew():
    call = RanksExecutable(ReferenceCode(), PROBLEM, RANKS).bind(make_inputs(PROBLEM))
    assert not call.take_inputs(make_inputs(PROBLEM))


def test_outputs_alone_are_poisoned_before_a_sample():
    problem = AttentionProblem(**PLAIN)
    call = harness.build(problem).executable().bind(make_inputs(problem))
    call.run()
    call.poison_outputs()
    assert np.isnan(call.outputs()[OUTPUT]).all()


def test_a_call_that_is_bound_to_arrays_of_a_caller_takes_no_others():
    problem = AttentionProblem(**PLAIN)
    inputs = make_inputs(problem)
    before = inputs.q.copy()
    call = harness.build(problem).executable().bind(inputs)
    assert not call.take_inputs(make_inputs(problem, seed=1))
    assert np.array_equal(inputs.q, before)

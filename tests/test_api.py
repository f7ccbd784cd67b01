"""What `harness.build` and `harness.attention` make of their arguments."""

from typing import Any

import numpy as np
import pytest
from example_cases import PROBLEM

import harness
from harness.api import BuiltArtifact
from harness.errors import InputError
from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import make_inputs

pytestmark = pytest.mark.usefixtures("example_plugin")


def build(**settings: int) -> BuiltArtifact:
    return harness.build(PROBLEM, variant="numpy-attention", target="numpy", **settings)


def test_a_default_that_is_written_down_is_the_same_case() -> None:
    assert build().case == build(threads=1).case
    assert build().case.target_options == {"threads": 1}
    assert build(threads=2).case.id != build().case.id


def test_an_option_that_is_almost_right_is_suggested() -> None:
    expected = r"target 'numpy': thread: unknown key \(did you mean threads\?\); allowed: threads"
    with pytest.raises(InputError, match=expected):
        build(thread=2)


@pytest.mark.parametrize("params", [None, {"tile_q": 4, "tile_kv": 5}])
def test_attention_is_what_the_oracle_expects_whatever_the_tiles(params: dict[str, Any] | None) -> None:
    problem = AttentionProblem(heads=4, kv_heads=2, seq_q=9, seq_kv=13, head_dim=8, causal=True)
    inputs = make_inputs(problem)
    found = harness.attention(inputs.q, inputs.k, inputs.v, causal=True, params=params)
    assert expect(inputs, problem).check(found).ok


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"q": [[1.0]]}, "q: found list, expected a NumPy array"),
        ({"k": np.zeros((1, 2, 4), np.float32)}, r"k: found shape \[1, 2, 4\], expected \[batch, heads"),
        ({"v": np.zeros((1, 2, 6, 8))}, "v: found dtype float64, expected float32 as q has"),
        (
            {"v": np.zeros((1, 2, 7, 8), np.float32)},
            r"v: found shape \[1, 2, 7, 8\], expected \[1, 2, 6, 8\]",
        ),
        ({"params": {"tile_kw": 5}}, r"tile_kw: unknown key \(did you mean tile_kv\?\)"),
        ({"variant": "flahs"}, r"unknown variant 'flahs' \(did you mean flash\?\); expected one of"),
    ],
)
def test_what_is_wrong_with_the_arguments_of_attention_is_named(
    changed: dict[str, Any], message: str
) -> None:
    arguments = {name: np.zeros((1, 2, 6, 8), np.float32) for name in ("q", "k", "v")} | changed
    with pytest.raises(InputError, match=message):
        harness.attention(**arguments)

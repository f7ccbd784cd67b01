"""Binding, poisoning and calling kernels."""

import gc
import re
from dataclasses import replace

import numpy as np
import pytest
from variants.native_runs import build, load

from harness.errors import InputError
from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.dtypes import numpy_dtype
from harness.problem.inputs import make_inputs
from harness.targets.cpu.executable import _ranges

PROBLEM = AttentionProblem(heads=2, seq_q=77, head_dim=32, causal=True)


@pytest.mark.parametrize("name", ["q", "k", "v"])
def test_a_wrong_shape_names_the_argument(name):
    inputs = make_inputs(PROBLEM)
    wrong = replace(inputs, **{name: getattr(inputs, name)[:, :1]})
    message = f"{name}: found float32[1, 1, 77, 32], expected float32[1, 2, 77, 32]"
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        load("flash", PROBLEM).bind(wrong)


@pytest.mark.parametrize("name", ["q", "k", "v"])
def test_a_wrong_dtype_names_the_argument(name):
    inputs = make_inputs(PROBLEM)
    wrong = replace(inputs, **{name: getattr(inputs, name).astype(np.float64)})
    message = f"{name}: found float64[1, 2, 77, 32], expected float32[1, 2, 77, 32]"
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        load("flash", PROBLEM).bind(wrong)


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
def test_poison_fills_the_output_with_nan(dtype):
    problem = PROBLEM.model_copy(update={"dtype": dtype})
    call = load("flash", problem).bind(make_inputs(problem))
    call.run()
    call.poison()
    output = call.output()
    assert output.dtype == numpy_dtype(dtype)
    assert np.isnan(output).all()


def test_poison_fills_workspace_and_scratch_memory_with_nan():
    call = load("unfused", PROBLEM).bind(make_inputs(PROBLEM))
    call.run()
    call.poison()
    assert np.isnan(call._buffers["scores"]).all()
    assert all(np.isnan(scratch.view(np.float32)).all() for scratch in call._scratch)


def test_the_output_is_a_copy():
    call = load("flash", PROBLEM).bind(make_inputs(PROBLEM))
    call.run()
    first = call.output()
    call.poison()
    assert np.isfinite(first).all()


def test_inputs_that_are_not_contiguous_are_accepted():
    inputs = make_inputs(PROBLEM)
    strided = replace(inputs, k=np.ascontiguousarray(inputs.k.swapaxes(2, 3)).swapaxes(2, 3))
    outputs = []
    for bound in (inputs, strided):
        call = load("flash", PROBLEM).bind(bound)
        call.run()
        outputs.append(call.output())
    np.testing.assert_array_equal(outputs[0], outputs[1])


def test_an_executable_is_called_like_a_function():
    inputs = make_inputs(PROBLEM)
    call = load("flash", PROBLEM).bind(inputs)
    call.run()
    np.testing.assert_array_equal(load("flash", PROBLEM)(inputs.q, inputs.k, inputs.v), call.output())


@pytest.mark.parametrize("points", [1, 2, 7, 16, 100])
@pytest.mark.parametrize("count", [1, 8, 24])
def test_ranges_cover_the_grid_once(points, count):
    ranges = list(_ranges(points, count))
    assert [point for part in ranges for point in part] == list(range(points))
    assert len(ranges) <= count


def test_a_call_keeps_the_code_loaded():
    artifact, folder = build("flash", PROBLEM)
    inputs = make_inputs(PROBLEM)
    call = artifact.load(folder).bind(inputs)
    gc.collect()
    call.run()
    assert expect(inputs, PROBLEM).check(call.output()).ok

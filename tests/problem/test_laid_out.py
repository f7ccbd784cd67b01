"""Code is given inputs as its checks have drawn them: contiguous, and with all axes."""

from dataclasses import replace

import numpy as np
import pytest

from harness.artifact.bound_call import BoundCall, Executable
from harness.artifact.checked_executable import CheckedExecutable
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import Inputs, laid_out, make_inputs
from harness.system.errors import UnsupportedError

PROBLEM = AttentionProblem(batch=2, heads=3, seq_q=4, head_dim=8, mask=True, mask_axes="qk", bias=True)


def strided(array: np.ndarray) -> np.ndarray:
    """Return the same values in another layout, `[batch, seq, heads, width]` in memory."""
    return np.ascontiguousarray(array.swapaxes(1, 2)).swapaxes(1, 2)


def unaligned(array: np.ndarray) -> np.ndarray:
    memory = np.empty(array.nbytes + 1, np.uint8)[1:]
    moved = memory.view(array.dtype).reshape(array.shape)
    moved[...] = array
    return moved


@pytest.mark.parametrize("change", [strided, unaligned])
def test_other_layouts_are_copied(change) -> None:  # type: ignore[no-untyped-def]
    inputs = make_inputs(PROBLEM)
    given = replace(inputs, q=change(inputs.q), k=change(inputs.k), v=change(inputs.v))
    laid = laid_out(given, PROBLEM)
    for name in ("q", "k", "v"):
        array = getattr(laid, name)
        assert array.flags.c_contiguous
        assert array.flags.aligned
        assert np.array_equal(array, getattr(inputs, name))


def test_masks_and_biases_have_the_shape_that_the_problem_says() -> None:
    inputs = make_inputs(PROBLEM)
    assert inputs.mask is not None
    given = replace(inputs, mask=inputs.mask[0, 0], bias=np.ones((3, 1, 4), np.float32))
    laid = laid_out(given, PROBLEM)
    assert laid.mask is not None
    assert laid.bias is not None
    assert laid.mask.flags.writeable
    assert laid.mask.shape == PROBLEM.mask_shape == (1, 1, 4, 4)
    assert np.array_equal(laid.mask, inputs.mask)
    assert laid.bias.shape == PROBLEM.bias_shape == (1, 3, 4, 4)
    assert laid.bias.flags.c_contiguous


class Keeping(Executable):
    """Code that keeps the inputs that it is to be bound to, and takes none."""

    def bind(self, inputs: Inputs) -> BoundCall:
        self.bound = inputs
        raise UnsupportedError("these are enough")


def test_code_is_bound_to_these() -> None:
    code, inputs = Keeping(), make_inputs(PROBLEM)
    with pytest.raises(UnsupportedError):
        CheckedExecutable(PROBLEM, code).bind(replace(inputs, q=strided(inputs.q)))
    assert np.array_equal(code.bound.q, inputs.q)
    assert code.bound.q.flags.c_contiguous

import warnings

import numpy as np
import pytest

from harness.errors import InputError
from harness.oracle import magnitudes
from harness.oracle.expected import require_scores_in_range
from harness.oracle.magnitudes import largest_finite
from harness.problem.attention_problem import AttentionProblem
from harness.problem.dtypes import numpy_dtype
from harness.problem.inputs import Inputs, make_inputs

DTYPES = ["f32", "f16", "bf16"]


def drawn(dtype: str) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((3, 5, 40, 7)).astype(numpy_dtype(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("largest", [-300.0, 300.0, None])
def test_the_largest_number_of_either_sign_is_found(dtype: str, largest: float | None) -> None:
    array = drawn(dtype)
    if largest is not None:
        array[1, 2, 3, 4] = largest
    exact = float(np.abs(array.astype(np.float64)).max())
    views = [array, array.swapaxes(1, 2), array[::-1, ..., ::-1], np.broadcast_to(array, (2, *array.shape))]
    assert [largest_finite(view) for view in views] == [exact] * len(views)
    assert largest_finite(-np.abs(array)) == largest_finite(np.abs(array)) == exact


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("other", [np.nan, -np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_left_out_without_a_warning(
    monkeypatch: pytest.MonkeyPatch, dtype: str, other: float
) -> None:
    monkeypatch.setattr(magnitudes, "CHUNK", 100)
    array = drawn(dtype)
    exact = float(np.abs(array[:, :, :39].astype(np.float64)).max())
    array[:, :, 39:] = other
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert largest_finite(array) == largest_finite(array.swapaxes(0, 3)) == exact
        assert largest_finite(array[:, :, 39:]) == 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_nothing_and_the_smallest_numbers_have_their_size(dtype: str) -> None:
    step = np.array([1], f"u{numpy_dtype(dtype).itemsize}").view(numpy_dtype(dtype))
    assert largest_finite(-step) == float(step[0]) > 0
    assert largest_finite(step[:0]) == largest_finite(-0 * step) == 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_keys_beyond_their_length_may_be_nan_without_a_warning(dtype: str) -> None:
    problem = AttentionProblem(
        batch=2, heads=2, seq_q=1, seq_kv=40, head_dim=8, kv_lengths=(40, 17), dtype=dtype
    )
    inputs = make_inputs(problem)
    assert np.isnan(inputs.k.astype(np.float32)).any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        require_scores_in_range(inputs, problem)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("beyond", [0.0, np.nan, -np.inf])
def test_scores_too_large_for_f32_are_refused_whatever_lies_beside_them(dtype: str, beyond: float) -> None:
    problem = AttentionProblem(heads=1, seq_q=3, seq_kv=9, head_dim=8, scale=1e30, dtype=dtype)
    inputs = make_inputs(problem)
    inputs.k[..., 8, :] = beyond
    require_scores_in_range(inputs, problem.model_copy(update={"scale": 1e28}))
    with pytest.raises(InputError, match="scale: scores of size"):
        require_scores_in_range(inputs, problem)


class Unread(np.ndarray):
    """An array that fails when its elements are computed with."""

    def __array_ufunc__(self, *of_call: object, **options: object) -> None:
        pytest.fail("elements were read")


def test_f16_arrays_cannot_have_such_scores_and_are_not_looked_at() -> None:
    problem = AttentionProblem(heads=1, seq_q=3, seq_kv=9, head_dim=8, dtype="f16")
    inputs = make_inputs(problem)
    require_scores_in_range(Inputs(inputs.q.view(Unread), inputs.k.view(Unread), inputs.v), problem)

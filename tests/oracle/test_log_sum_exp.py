"""The log-sum-exp of rows as a second output: what is right passes, what mistakes leave behind does not."""

from collections.abc import Callable

import numpy as np
import pytest

from harness.oracle.expected import Expected, expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.dtypes import numpy_dtype
from harness.problem.inputs import make_inputs

PADDED = AttentionProblem(
    batch=2, heads=2, seq_q=40, seq_kv=70, head_dim=16, kv_lengths=(70, 0), sinks=False, log_sum_exp=True
)
PACKED = AttentionProblem(
    heads=2,
    head_dim=16,
    dtype="f16",
    causal=True,
    cu_seqlens_q=(0, 30, 31),
    cu_seqlens_kv=(0, 50, 90),
    log_sum_exp=True,
)
PROBLEMS = pytest.mark.parametrize("problem", [PADDED, PACKED], ids=["padded", "packed"])


def outputs(problem: AttentionProblem, expected: Expected) -> dict[str, np.ndarray]:
    """Return right outputs as calls give them."""
    rows = expected.log_sum_exp.T if problem.is_packed else expected.log_sum_exp
    output = expected.reference.astype(numpy_dtype(problem.dtype))
    return {"output": output, "log_sum_exp": rows.astype(np.float32)}


def finite(change: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """Return a change of what is finite."""
    return lambda rows: np.where(np.isfinite(rows), change(rows), rows)


MISTAKES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "zeros": np.zeros_like,
    "base 2": finite(lambda rows: rows * np.float32(np.log2(np.e))),
    "half of the sum": finite(lambda rows: rows - np.float32(np.log(2))),
    "one key of 70 left out": finite(lambda rows: rows + np.float32(np.log(69 / 70))),
    "rounded to f16": finite(lambda rows: rows.astype(np.float16).astype(np.float32)),
    "rows shifted by one": lambda rows: np.roll(rows, 1, axis=-1),
    "a row unwritten": lambda rows: np.where(np.arange(rows.shape[-1]) == 7, np.nan, rows),
}


@PROBLEMS
def test_what_is_right_passes(problem: AttentionProblem) -> None:
    expected = expect(make_inputs(problem), problem)
    right = outputs(problem, expected)
    assert right["log_sum_exp"].shape == problem.log_sum_exp_shape
    assert expected.check_outputs(right).ok


@PROBLEMS
@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_refused(problem: AttentionProblem, mistake: str) -> None:
    expected = expect(make_inputs(problem), problem)
    found = outputs(problem, expected)
    found["log_sum_exp"] = MISTAKES[mistake](found["log_sum_exp"]).astype(np.float32)
    verdict = expected.check_outputs(found)
    assert not verdict.ok
    assert str(verdict.first_bad).startswith("log-sum-exp: ")


def test_a_row_that_sees_nothing_is_minus_infinity() -> None:
    expected = expect(make_inputs(PADDED), PADDED)
    found = outputs(PADDED, expected)
    assert (found["log_sum_exp"][1] == -np.inf).all()
    found["log_sum_exp"][1, 0, 3] = -1e30
    assert expected.check_outputs(found).first_bad == "log-sum-exp: batch 1, head 0, query 3"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda found: found.pop("log_sum_exp"), "no output log_sum_exp, found output"),
        (
            lambda found: found.update(log_sum_exp=found["log_sum_exp"].astype(np.float64)),
            "log-sum-exp: output dtype float64, expected float32",
        ),
        (
            lambda found: found.update(log_sum_exp=found["log_sum_exp"][:, :1]),
            "log-sum-exp: output shape (2, 1, 40, 1), expected (2, 2, 40, 1)",
        ),
    ],
    ids=["missing", "dtype", "shape"],
)
def test_what_is_no_such_output_is_refused(change: Callable[[dict], object], says: str) -> None:
    expected = expect(make_inputs(PADDED), PADDED)
    found = outputs(PADDED, expected)
    change(found)
    assert expected.check_outputs(found).first_bad == says


def test_files_hold_it(tmp_path) -> None:
    expected = expect(make_inputs(PACKED), PACKED)
    expected.save(tmp_path / "expected")
    loaded = Expected.load(tmp_path / "expected")
    right = outputs(PACKED, expected)
    assert loaded.check_outputs(right).ok
    loaded.dump(right, tmp_path / "wrong.npz")
    with np.load(tmp_path / "wrong.npz") as arrays:
        np.testing.assert_array_equal(arrays["log_sum_exp_found"][..., 0], right["log_sum_exp"].T)
        assert {"found", "log_sum_exp_expected", "log_sum_exp_tolerance"} < set(arrays)

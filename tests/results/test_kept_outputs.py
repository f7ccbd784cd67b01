"""Outputs that a run keeps: their bits come back, whatever they are."""

from pathlib import Path

import numpy as np
import pytest

from harness.problem.dtypes import NUMPY_DTYPES
from harness.results.kept_outputs import MOST_KEPT_BYTES, bits_of, keep_outputs, kept_outputs
from harness.system.errors import InputError


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
def test_bits_come_back(tmp_path: Path, dtype: str) -> None:
    output = np.array([[0.0, -0.0, np.nan], [np.inf, -np.inf, 0.1]], NUMPY_DTYPES[dtype])
    sums = np.arange(2, dtype=np.float32)
    keep_outputs(tmp_path / "case.npz", {"output": output, "log_sum_exp": sums}, 0.25)
    kept = kept_outputs(tmp_path / "case.npz")
    assert kept is not None
    assert kept.error_ratio == 0.25
    assert {name: array.dtype for name, array in kept.arrays.items()} == {
        "output": output.dtype,
        "log_sum_exp": np.float32,
    }
    assert np.array_equal(bits_of(kept.arrays["output"]), bits_of(output))
    assert np.array_equal(kept.arrays["log_sum_exp"], sums)


def test_large_outputs_and_those_of_no_dtype_of_a_problem_are_not_kept(tmp_path: Path) -> None:
    large = np.zeros(MOST_KEPT_BYTES // 2 + 1, np.float16)
    keep_outputs(tmp_path / "large.npz", {"output": large}, 0.5)
    keep_outputs(tmp_path / "whole.npz", {"output": large.astype(np.int32)[:3]}, 0.5)
    assert kept_outputs(tmp_path / "large.npz") is None
    assert kept_outputs(tmp_path / "whole.npz") is None
    assert list(tmp_path.iterdir()) == []
    keep_outputs(tmp_path / "largest.npz", {"output": large[1:]}, 0.5)
    assert kept_outputs(tmp_path / "largest.npz") is not None


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut", b"text"])
def test_a_file_of_something_else_is_told(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "case.npz").write_bytes(content)
    with pytest.raises(InputError, match="cannot read outputs"):
        kept_outputs(tmp_path / "case.npz")

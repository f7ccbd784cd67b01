"""Answers of workers."""

import pytest

from harness.bench.workers.protocol import Checked, PeakMeasured, Ran, Sampled


@pytest.mark.parametrize(
    ("model", "values"),
    [
        (Sampled, {"seconds": 0.0, "calls": 1}),
        (Sampled, {"seconds": 1.0, "calls": 0}),
        (Sampled, {"seconds": 1.0, "calls": 1, "device": {"launch_s": float("nan")}}),
        (Ran, {"peak_bytes": 2**63}),
        (PeakMeasured, {"flops": float("nan")}),
        (PeakMeasured, {"flops": 1.0, "bandwidths": {"memory": float("inf")}}),
        (Checked, {"ok": True, "max_abs_error": 1.0, "error_ratio": 2.0, "tolerance": 0.5}),
        (Checked, {"ok": True, "max_abs_error": float("nan"), "error_ratio": 0.5, "tolerance": 0.5}),
    ],
)
def test_numbers_that_cannot_be_are_refused(model: type, values: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        model(**values)

"""Rows that every shipped figure can draw, of any problems."""

from typing import Any

from synthetic_results import PEAK_TFLOPS, make_result

from harness.results.result import Result

MODEL = {"fraction_of_peak": 0.6, "bound": "tensor", "cycles": 2e3, "scores": 4e3, "tensor_cycles": 1.2e3}
KNOWN: dict[str, Any] = {
    "max_abs_error": 1e-5,
    "bytes": 10**6,
    "workspace_bytes": 10**5,
    "flops_executed": 10**9,
    "registers": 128,
    "build_s": 1.0,
    "instructions": {"matrix": 10, "float": 20},
    "model": MODEL,
    "baseline": "unfused",
}


def drawable(variant: str, seq: int, factor: float, **fields: Any) -> Result:
    """Return a row of a variant that is so many times as fast as the baseline `unfused`."""
    rate = 0.07 * factor
    known = {**KNOWN, "recompute_factor": 1000 / factor, "time_s": 1e-3 / factor, "tflops": rate}
    row = make_result(variant, seq, **{**known, **fields})
    measured = {
        "fraction_of_peak": rate / PEAK_TFLOPS,
        "intensity": seq / 8,
        "error_ratio": seq / 1e3,
        "speedup": factor,
        "speedup_low": 0.9 * factor,
        "speedup_high": 1.2 * factor,
    }
    return row.model_copy(update=measured)

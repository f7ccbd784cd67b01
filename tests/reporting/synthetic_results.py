"""Synthetic results: single rows by keyword, a realistic sweep of seven variants, and a manifest."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.results.manifest import Manifest, collect
from harness.results.result import Result
from harness.system.status import Status

WriteRun = Callable[..., Path]
"""Writes results into a run's folder, see the fixture `write_run`."""

SHAPE = {"batch": 1, "heads": 16, "kv_heads": 16, "dtype": "f32", "mask": "full", "causal": False}


def make_result(variant: str = "flash", seq: int = 256, head_dim: int = 64, **fields: Any) -> Result:
    """Build a result from what matters to a test; times imply rates."""
    fields.setdefault("causal", fields.get("mask") == "causal")
    params = fields.get("params", {})
    dtype = fields.get("dtype", "f32")
    pairs = seq * (seq + 1) // 2 if fields["causal"] else seq * seq
    values: dict[str, Any] = {
        "experiment": "seq_sweep",
        "run": "run-1",
        "case": f"{variant}-{seq}-{head_dim}-{dtype}-{fields['causal']}-{sorted(params.items())}",
        "variant": variant,
        "target": "cpu",
        "executor": "native",
        "device": "Example CPU",
        "status": Status.PASSED,
        **SHAPE,
        "seq_q": seq,
        "seq_kv": seq,
        "head_dim": head_dim,
        "head_dim_v": head_dim,
        "causal_alignment": "bottom-right",
        "scale": 1 / math.sqrt(head_dim),
        "threads": 1,
        "flops": 4 * 16 * pairs * head_dim,
        **fields,
    }
    if "time_s" in values:
        values.setdefault("tflops", values["flops"] / values["time_s"] / 1e12)
    return Result(**values)


PEAK_TFLOPS = 0.25
RATES = {
    "unfused": (0.095, 0.062),
    "flash": (0.196, 0.215),
    "naive 64": (0.105, 0.031),
    "naive 128": (0.125, 0.058),
    "iree": (0.025, 0.012),
    "iree-unfused": (0.038, 0.036),
    "torch": (0.078, 0.086),
    "torch-unfused": (0.110, 0.085),
}
"""Rate in TFLOP/s at the shortest and at the longest sequence."""


def sweep_results(run: str = "run-1", scale: float = 1.0) -> list[Result]:
    """Return a sweep over seq 256 … 4096, head_dim 64 and 128, full and causal, with gaps."""
    sequences = (256, 512, 1024, 2048, 4096)
    results = []
    for head_dim in (64, 128):
        for mask in ("full", "causal"):
            for step, seq in enumerate(sequences):
                results += [_sweep_result(name, seq, step / 4, head_dim, mask, run, scale) for name in RATES]
    return results


def _sweep_result(
    name: str, seq: int, progress: float, head_dim: int, mask: str, run: str, scale: float
) -> Result:
    variant, _, tile = name.partition(" ")
    fields: dict[str, Any] = {
        "head_dim": head_dim,
        "mask": mask,
        "run": run,
        "params": {"tile_kv": int(tile), "tile_q": 32} if tile else {},
        "baseline": "unfused",
    }
    failure = _failure(name, seq, head_dim, mask)
    if failure is not None:
        status, phase, reason = failure
        rerun = f"harness run experiments/seq_sweep.toml --only case={variant}{seq}{head_dim}"
        if status is not Status.UNSUPPORTED:
            fields["rerun"] = rerun
        return make_result(variant, seq, status=status, phase=phase, reason=reason, **fields)
    tflops = _rate(name, progress, head_dim, mask) * scale
    ratio = tflops / (_rate("unfused", progress, head_dim, mask) * scale)
    flops = make_result(variant, seq, **fields).flops
    time = flops / tflops / 1e12
    has_baseline = not (head_dim == 128 and mask == "full" and seq == 4096)
    return make_result(
        variant,
        seq,
        **fields,
        time_s=time,
        time_low_s=time * 0.985,
        time_high_s=time * 1.02,
        samples=60,
        noise=0.012,
        busy=name == "torch" and seq == 512,
        error_ratio=0.31,
        fraction_of_peak=tflops / PEAK_TFLOPS,
        peak_tflops=PEAK_TFLOPS,
        recompute_factor=None if not tile else 1 + 4 * 32 / int(tile),
        speedup=ratio if has_baseline else None,
        speedup_low=ratio * 0.98 if has_baseline else None,
        speedup_high=ratio * 1.03 if has_baseline else None,
    )


def _rate(name: str, progress: float, head_dim: int, mask: str) -> float:
    first, last = RATES[name]
    rate = first + (last - first) * progress
    return rate * (0.97 if head_dim == 128 else 1.0) * (0.8 + 0.15 * progress if mask == "causal" else 1.0)


def _failure(name: str, seq: int, head_dim: int, mask: str) -> tuple[Status, str, str] | None:
    if name == "torch-unfused" and mask == "causal":
        return Status.UNSUPPORTED, "plan", "no causal mask without the fused kernel"
    if name.startswith("naive") and seq == 4096:
        return Status.TIMED_OUT, "run", "no answer after 60 s"
    if name == "naive 64" and seq == 2048 and head_dim == 128:
        return Status.WRONG, "check", "error 3.1e-2, tolerance 6.0e-4 (first bad row: head 1, query 320)"
    if name == "unfused" and seq == 4096 and head_dim == 128 and mask == "full":
        return Status.OUT_OF_MEMORY, "run", "killed at 8 GiB"
    if name == "iree" and mask == "causal" and seq >= 2048:
        return Status.CRASHED, "run", "signal 11 (SIGSEGV)"
    return None


def example_manifest(source: str, name: str) -> Manifest:
    """A manifest with everything fixed that a report prints."""
    manifest = collect(name, "How fast?", source, ["harness", "run", f"{name}.toml"])
    return manifest.model_copy(
        update={
            "started": "2026-01-02T03:04:05+00:00",
            "harness_version": "0.1.0",
            "git_commit": "0123456789abcdef",
            "git_dirty": False,
            "device": "Example CPU",
        }
    )


RESULTS = [
    make_result("unfused", 256, time_s=0.004, speedup=1.0, baseline="unfused"),
    make_result("flash", 256, time_s=0.002, speedup=2.0, baseline="unfused"),
    make_result(
        "flash",
        512,
        status=Status.CRASHED,
        phase="run",
        reason="signal 11",
        rerun="harness run --only case=9f",
    ),
]
"""Of one run: two that passed, one that did not."""

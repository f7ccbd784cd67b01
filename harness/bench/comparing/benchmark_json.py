"""A comparison as a file of pytest-benchmark, so that its users' tools read it.

The statistics are those of the new run's rounds; what the comparison says of a case is its `extra_info`.
"""

import json
import math
from datetime import UTC, datetime
from typing import Any

import numpy as np

from harness.bench.comparing.comparison import Comparison
from harness.reporting.frames import describe_problem, records
from harness.results.manifest import Manifest
from harness.results.timing_rounds import samples_of_rows

FORMAT = "5.3.1"
"""Version of pytest-benchmark whose files look like this."""


def benchmark_json(comparison: Comparison) -> str:
    """Return the file's text: one benchmark for each case that both runs timed.

    Raises `InputError` where the rounds of the new run cannot be read.
    """
    samples, cases = samples_of_rows(comparison.new.rounds()), comparison.cases
    seconds = {case: np.array([np.median(taken) for taken in rounds]) for case, rounds in samples.items()}
    timed = cases[cases["verdict"].notna() & cases["case"].isin(list(seconds))]
    content = {
        "machine_info": comparison.new.manifest.machine.model_dump(mode="json"),
        "commit_info": _commit(comparison.new.manifest),
        "benchmarks": [_benchmark(row, seconds[row["case"]]) for row in records(timed)],
        "datetime": datetime.now(UTC).isoformat(),
        "version": FORMAT,
    }
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def _commit(manifest: Manifest) -> dict[str, Any]:
    latest = manifest.latest
    return {"id": latest.git_commit, "dirty": latest.git_dirty, "time": latest.started}


def _benchmark(row: dict[str, Any], seconds: np.ndarray) -> dict[str, Any]:
    own = {name.removesuffix("_new"): value for name, value in row.items() if not name.endswith("_old")}
    problem = f"{own['target']} {describe_problem(own)}"
    params = own.get("params")
    name = f"{own['variant']}[{problem} {params}]" if params else f"{own['variant']}[{problem}]"
    return {
        "group": problem,
        "name": name,
        "fullname": f"{name} {row['case']}",
        "params": None,
        "param": None,
        "extra_info": {
            "case": row["case"],
            "verdict": row["verdict"],
            "ratio": _known(row["ratio"]),
            "ratio_low": _known(row["low"]),
            "ratio_high": _known(row["high"]),
            "how": row["how"],
            "old_time_s": _known(row["time_s_old"]),
        },
        "options": {"timer": "perf_counter", "min_rounds": len(seconds), "warmup": False},
        "stats": _statistics(seconds),
    }


def _known(value: float | None) -> float | None:
    """Return a number as JSON can hold it: what is not known is null."""
    return value if value is not None and math.isfinite(value) else None


def _statistics(seconds: np.ndarray) -> dict[str, Any]:
    first, median, third = (float(value) for value in np.percentile(seconds, [25, 50, 75]))
    spread, mean = third - first, float(seconds.mean())
    deviation = float(seconds.std(ddof=1)) if len(seconds) > 1 else 0.0
    low, high = first - 1.5 * spread, third + 1.5 * spread
    far = int(((seconds < low) | (seconds > high)).sum())
    beyond = int((np.abs(seconds - mean) > deviation).sum())
    inside = seconds[(seconds >= low) & (seconds <= high)]
    return {
        "min": float(seconds.min()),
        "max": float(seconds.max()),
        "mean": mean,
        "stddev": deviation,
        "rounds": len(seconds),
        "median": median,
        "iqr": spread,
        "q1": first,
        "q3": third,
        "iqr_outliers": far,
        "stddev_outliers": beyond,
        "outliers": f"{beyond};{far}",
        "ld15iqr": float(inside.min()),
        "hd15iqr": float(inside.max()),
        "ops": 1 / mean,
        "total": float(seconds.sum()),
        "data": seconds.tolist(),
        "iterations": 1,
    }

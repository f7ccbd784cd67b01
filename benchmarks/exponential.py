"""What AVX-512's own instructions for exponents are worth on the CPU: paired ratios with 95 % intervals.

    .venv/bin/python benchmarks/exponential.py [NAME …]

Kernels whose 2^x takes `vreduceps` and `vscalefps` are compared with those that do with what every processor
has.  Both are built and called in one process and take turns; several processes are started one after the
other, since a process keeps its luck.  Times are those that the processor spends on the one thread, so that a
busy machine disturbs less.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from unittest.mock import patch

import numpy as np

from harness import AttentionProblem, plugins
from harness.artifact.artifact import Artifact
from harness.artifact.bound_call import BoundCall
from harness.problem.case import Case
from harness.problem.inputs import make_inputs
from harness.results.statistics import paired_ratio
from harness.targets.cpu import exponential

STARTS, ROUNDS = 8, 61
WARM_UP_S = 0.3
SAMPLE_S = 0.008
"""A sample repeats calls for that long at least."""

FORMS = {"own instructions": exponential.SCALING_LANES, "polynomial and product": 0}
"""Elements of the vectors that have instructions of their own."""

PROBLEMS = {
    "d64-512": {"seq_q": 512, "head_dim": 64},
    "d64-2048": {"seq_q": 2048, "head_dim": 64},
    "d64-causal": {"seq_q": 2048, "head_dim": 64, "causal": True},
    "d128-2048": {"seq_q": 2048, "head_dim": 128},
    "d16-2048": {"seq_q": 2048, "head_dim": 16},
    "d64-bf16": {"seq_q": 2048, "head_dim": 64, "dtype": "bf16"},
}


def built(problem: AttentionProblem, lanes: int, folder: Path) -> Artifact:
    """Build `flash`, with AVX-512's instructions for vectors of so many elements."""
    folder.mkdir()
    case = Case(problem=problem, variant="flash", target="cpu", target_options={"threads": 1})
    with patch.object(exponential, "SCALING_LANES", lanes):
        return plugins.variant("flash").build(case, "key", folder)


def sampled(call: BoundCall) -> float:
    """Return the processor time of a call."""
    calls, began = 0, time.thread_time()
    while True:
        call.run()
        calls += 1
        passed = time.thread_time() - began
        if passed >= SAMPLE_S:
            return passed / calls


def one_start(name: str) -> tuple[list[int], list[tuple[float, float]]]:
    """Measure a problem in this process: bytes of code and times, in the order of `FORMS`."""
    problem = AttentionProblem(**{"heads": 2, **PROBLEMS[name]})
    with tempfile.TemporaryDirectory() as folder:
        places = {form: Path(folder) / form for form in FORMS}
        artifacts = {form: built(problem, lanes, places[form]) for form, lanes in FORMS.items()}
        calls = [
            artifact.load(places[form]).bind(make_inputs(problem)) for form, artifact in artifacts.items()
        ]
        sizes = [artifact.metrics.code_bytes or 0 for artifact in artifacts.values()]
    for call in calls:
        started = time.perf_counter()
        while time.perf_counter() - started < WARM_UP_S:
            call.run()
    taken = []
    for number in range(ROUNDS):
        order = (0, 1) if number % 2 else (1, 0)
        seconds = {side: sampled(calls[side]) for side in order}
        taken.append((seconds[0], seconds[1]))
    return sizes, taken


def report(name: str) -> str:
    """Measure a problem in several processes and say what came out."""
    taken: list[tuple[float, float]] = []
    starts: list[int] = []
    for start in range(STARTS):
        command = [sys.executable, __file__, "--start", name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        sizes, times = json.loads(done.stdout.splitlines()[-1])
        taken += times
        starts += [start] * len(times)
    own, polynomial = np.array(taken).T
    ratio = paired_ratio(own, polynomial, starts)
    return (
        f"{name} {ratio.value:.4f} [{ratio.low:.4f}, {ratio.high:.4f}] of the time without, lower is better; "
        f"code {sizes[0]} bytes, {sizes[1]} without"
    )


def main() -> None:
    """Measure what the command line names, all by default."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help=", ".join(PROBLEMS))
    parser.add_argument("--start", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.start:
        print(json.dumps(one_start(arguments.start)))
        return
    for name in arguments.names or PROBLEMS:
        print(report(name), flush=True)


if __name__ == "__main__":
    main()

"""How sharp timings are: one group for a few seconds, beside whole processes and a plain loop.

    .venv/bin/python benchmarks/timing.py [--budget 8] [--seq 640] [--repeats 1] [--busy]

The group is `flash` and four copies of it (`twin`), whose speed-ups ought to be 1.  Printed are starts,
rounds, the widths of the speed-ups' intervals, what excludes 1, and the share of samples.  Slowdowns that are
found are another experiment's: experiments/twins.toml.
Then come two copies by processes of their own in turns, as programs that time whole commands do it, and by a
plain loop in one process: the widths of their 95 % intervals, for the part of the time that two candidates of
five have.  Of several repeats it says how many pairs of runs agree: their estimates of a twin differ by no
more than both intervals allow.  With `--busy` another process keeps a core busy.
"""

import argparse
import contextlib
import itertools
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

import harness
from harness.problem.inputs import make_inputs
from harness.results.run_folder import RunFolder
from harness.results.statistics import Interval, nested_interval, relative_width

EXPERIMENT = """
name = "timing"
question = "How sharp are timings?"
variants = ["flash", "twin"]
targets = ["cpu"]
baseline = "flash"

[problem]
dtype = "f32"
heads = 2
head_dim = 64
seq = {seq}

[target.cpu]
threads = 1

[variant.twin]
number = [1, 2, 3, 4]

[timing]
budget_s = {budget}
interval = 0.001
"""

ONE_PROCESS = """
import sys, time
import harness
from harness.problem.inputs import make_inputs
problem = harness.AttentionProblem(heads=2, seq_q={seq}, seq_kv={seq}, head_dim=64)
kernel = harness.build(problem, variant="flash", target="cpu", params={{}}).executable()
call = kernel.bind(make_inputs(problem))
end, times = time.perf_counter() + {seconds}, []
while time.perf_counter() < end:
    began = time.perf_counter(); call.run(); times.append(time.perf_counter() - began)
times.sort(); print(times[len(times) // 2])
"""


@contextlib.contextmanager
def busy_core(is_busy: bool) -> Iterator[None]:
    """Keep a core busy meanwhile, if asked."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if is_busy else None
    try:
        yield
    finally:
        if process is not None:
            process.kill()
            process.wait()


def by_this_harness(folder: Path, budget: float, seq: int) -> list[Interval]:
    """Time the group, print what became of it, and return the speed-ups of the twins."""
    file = folder / "timing.toml"
    file.write_text(EXPERIMENT.format(budget=budget, seq=seq))
    began = time.perf_counter()
    rows = harness.run(file, out=folder / "results")
    took = time.perf_counter() - began
    run = RunFolder.open(sorted((folder / "results" / "timing").iterdir())[-1])
    first = rows.iloc[0]
    widths = (rows["speedup_high"] - rows["speedup_low"]) / rows["speedup"]
    excluded = (rows["speedup_low"] > 1) | (rows["speedup_high"] < 1)
    twins = rows["variant"] == "twin"
    share = run.manifest.timed_share or 0.0
    print(
        f"this harness   {first['time_s'] * 1e3:.3g} ms a call, {first['starts']} starts, "
        f"{first['samples']} rounds"
    )
    print(f"  widths of speed-ups: median {widths[twins].median():.2%}, largest {widths[twins].max():.2%}")
    print(f"  {excluded[twins].sum()} of {twins.sum()} twins told apart")
    print(f"  {share:.0%} of the timing in samples; the run took {took:.1f} s")
    bounds = rows.loc[twins, ["speedup", "speedup_low", "speedup_high"]]
    return [Interval(*map(float, row)) for row in bounds.to_numpy()]


def share_of_agreeing_pairs(runs: Sequence[Sequence[Interval]]) -> float:
    """Return in how many pairs of runs the estimates of a twin differ as their intervals allow."""
    agreeing = [
        abs(math.log(first.value / second.value)) <= math.hypot(_reach(first), _reach(second))
        for one, other in itertools.combinations(runs, 2)
        for first, second in zip(one, other, strict=True)
    ]
    return statistics.mean(agreeing)


def _reach(interval: Interval) -> float:
    return math.log(interval.high / interval.low) / 2


def width_of(values: list[float], starts: list[int]) -> float:
    """Return the width of an interval of ratios, relative to its value."""
    interval: Interval = nested_interval(np.array(values), np.array(starts))
    return relative_width(interval)


def by_whole_processes(budget: float, seq: int) -> None:
    """Time two copies by processes of a second each, in turns, and print how wide their ratio is."""
    medians: list[list[float]] = [[], []]
    program = ONE_PROCESS.format(seq=seq, seconds=0.5)
    end, side = time.perf_counter() + budget * 2 / 5, itertools.cycle((0, 1))
    while time.perf_counter() < end or len(medians[1]) < 3:
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        medians[next(side)].append(float(done.stdout))
    ratios = [one / other for one, other in zip(*medians, strict=False)]
    width = width_of(ratios, list(range(len(ratios))))
    print(f"whole processes   {len(ratios)} pairs; width of the ratio {width:.2%}")


def by_a_plain_loop(budget: float, seq: int) -> None:
    """Time two copies in one process, in turns, and print how wide their ratio seems."""
    problem = harness.AttentionProblem(heads=2, seq_q=seq, seq_kv=seq, head_dim=64)
    built = harness.build(problem, variant="flash", target="cpu", params={})
    calls = [built.executable().bind(make_inputs(problem)) for _ in range(2)]
    times: list[list[float]] = [[], []]
    end = time.perf_counter() + budget * 2 / 5
    while time.perf_counter() < end:
        for call, own in zip(calls, times, strict=True):
            began = time.perf_counter()
            call.run()
            own.append(time.perf_counter() - began)
    ratios = [one / other for one, other in zip(*times, strict=True)]
    print(
        f"a plain loop   {len(ratios)} pairs, ratio {statistics.median(ratios):.4f}; its width "
        f"{width_of(ratios, [0] * len(ratios)):.2%} knows nothing of how processes differ"
    )


def main() -> None:
    """Print all three, some times."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--budget", type=float, default=8.0)
    parser.add_argument("--seq", type=int, default=640)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--busy", action="store_true")
    arguments = parser.parse_args()
    runs = []
    with busy_core(arguments.busy), tempfile.TemporaryDirectory() as folder:
        for _ in range(arguments.repeats):
            runs.append(by_this_harness(Path(folder), arguments.budget, arguments.seq))
            by_whole_processes(arguments.budget, arguments.seq)
            by_a_plain_loop(arguments.budget, arguments.seq)
    if len(runs) > 1:
        print(f"{share_of_agreeing_pairs(runs):.1%} of the pairs of {len(runs)} runs agree")


if __name__ == "__main__":
    main()

"""Do starts of a fork spread as whole processes do?  The spread of a twin's ratio over both.

    .venv/bin/python benchmarks/starts.py [--starts 10] [--rounds 40] [--repeats 3]

Two copies of `flash` take turns on one processor, 4 ms each, in so many rounds; the median of their ratios
is the luck of that start.  *Forked*: both are started anew as timings do it, by a fork of a process that has
read the code.  *Whole*: both are new processes, which import and read everything again.  Kinds take turns, so
that both see the same machine.  Printed are the standard deviations of the logarithms over the starts, with
95 % intervals, and their ratio, which is 1 where a fork draws the same luck as a process does.
"""

import argparse
import math
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np

import harness
from harness.bench.building.case_build import build_request
from harness.bench.running.expectations import save_expectation
from harness.bench.running.prepared_case import prepare_case, start_case, take_sample
from harness.bench.workers.process import WorkerProcess
from harness.bench.workers.protocol import Greeting, Request
from harness.problem.case import Case
from harness.system.machine.quiet_cores import quiet_cores

LIMIT_S = 60.0
SAMPLE_S = 0.004
PROBLEM = harness.AttentionProblem(heads=2, seq_q=256, head_dim=64)
CASES = tuple(Case(problem=PROBLEM, variant="twin", target="cpu", params={"number": n}) for n in (1, 2))
LOADER = "harness.targets.cpu.executable"
DRAWS = 4000


def prepare(folder: Path) -> list[Request[Greeting]]:
    """Build both copies, and return what their workers are to read."""
    expectation = folder / "expected"
    with WorkerProcess(threads=1) as worker:
        built = [worker.request(partial(build_request, case=case), LIMIT_S) for case in CASES]
        request = partial(save_expectation, problem=PROBLEM, distribution="normal", seed=0, file=expectation)
        worker.request(request, LIMIT_S)
    return [
        partial(
            prepare_case,
            folder=one.folder,
            case=one.artifact.case,
            code={},
            candidate=0,
            distribution="normal",
            seed=0,
            expectation=expectation,
        )
        for one in built
    ]


class Pair:
    """The workers of both copies."""

    def __init__(self, requests: Sequence[Request[Greeting]], stack: ExitStack, *, is_whole: bool) -> None:
        """Prepare workers that are forked in each start, or are new processes there."""
        self._requests = requests
        self._stack = stack.enter_context(ExitStack())
        self._is_whole = is_whole
        self._number = 2
        self._begin()

    def _begin(self) -> None:
        self._workers = [
            self._stack.enter_context(WorkerProcess(threads=1, modules=[LOADER])) for _ in self._requests
        ]
        for worker, request in zip(self._workers, self._requests, strict=True):
            worker.begin_lives(request, LIMIT_S)

    def start(self, processor: int) -> float:
        """Start both anew on a processor, and return the seconds that it took."""
        began = time.perf_counter()
        if self._is_whole:
            self._stack.close()
            self._begin()
        else:
            for worker in self._workers:
                worker.restart()
        for worker in self._workers:
            worker.request(partial(start_case, placement_seed=random.getrandbits(32)), LIMIT_S)
            worker.keep_on(processor)
        return time.perf_counter() - began

    def luck(self, rounds: int) -> float:
        """Return the median logarithm of the ratio of both in so many rounds."""
        ratios = []
        for taken in range(rounds + 1):
            seconds = {}
            for place in (0, 1) if taken % 2 else (1, 0):
                self._number += 1
                request = partial(take_sample, number=self._number, min_seconds=SAMPLE_S)
                seconds[place] = self._workers[place].request(request, LIMIT_S).sample.seconds
            if taken:  # the first one warms up
                ratios.append(math.log(seconds[0] / seconds[1]))
        return statistics.median(ratios)


def described(logarithms: Sequence[float]) -> str:
    """Return a standard deviation with its interval, drawn again from what was measured."""
    values = np.asarray(logarithms)
    drawn = np.random.default_rng(0).choice(values, size=(DRAWS, len(values))).std(axis=1, ddof=1)
    low, high = np.percentile(drawn, [2.5, 97.5])
    return f"{values.std(ddof=1):.2%} [{low:.2%}, {high:.2%}]"


def main() -> None:
    """Print both spreads, some times, and then of all starts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--starts", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    luck: dict[str, list[float]] = {"forked": [], "whole": []}
    seconds: dict[str, list[float]] = {"forked": [], "whole": []}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        requests = prepare(Path(folder))
        pairs = {kind: Pair(requests, stack, is_whole=kind == "whole") for kind in luck}
        for repeat in range(arguments.repeats):
            for _ in range(arguments.starts):
                processor = random.choice(quiet_cores())
                for kind, pair in pairs.items():
                    seconds[kind].append(pair.start(processor))
                    luck[kind].append(pair.luck(arguments.rounds))
            for kind, taken in luck.items():
                print(f"{repeat + 1}. {kind}: {described(taken[-arguments.starts :])}", flush=True)
    for kind, taken in luck.items():
        start_ms = 1e3 * statistics.median(seconds[kind])
        print(f"{kind}, all {len(taken)} starts: {described(taken)}; both started in {start_ms:.0f} ms")
    forked, whole = (np.asarray(luck[kind]) for kind in ("forked", "whole"))
    random_draws = np.random.default_rng(1)
    drawn = [
        random_draws.choice(forked, len(forked)).std(ddof=1)
        / random_draws.choice(whole, len(whole)).std(ddof=1)
        for _ in range(DRAWS)
    ]
    low, high = np.percentile(drawn, [2.5, 97.5])
    print(f"forked over whole: {forked.std(ddof=1) / whole.std(ddof=1):.2f} [{low:.2f}, {high:.2f}]")


if __name__ == "__main__":
    main()

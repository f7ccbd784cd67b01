"""What forms of attention cost on the CPU: paired ratios with 95 % intervals, for a quiet machine.

    .venv/bin/python benchmarks/forms.py [NAME …]

Both sides of a comparison live in one process and take turns; several processes are started one after the
other, since a process keeps its luck (`harness.results.statistics`).  What is hidden is not computed, and the
time shows it: a causal mask leaves half of the pairs, a window a sixteenth.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import harness
from harness import AttentionProblem
from harness.artifact.bound_call import BoundCall
from harness.problem.inputs import make_inputs
from harness.results.statistics import paired_ratio

STARTS, ROUNDS = 5, 7
WARM_UP_S = 0.5
SAMPLE_S = 0.05
"""A sample repeats calls for that long at least."""


@dataclass(frozen=True)
class Side:
    """One of two problems, or what both are compared with."""

    problem: AttentionProblem
    variant: str = "flash"


@dataclass(frozen=True)
class Comparison:
    """Two problems, and what is said of their times."""

    summary: str
    candidate: Side
    reference: Side
    most: float | None = None
    """Largest ratio of times that is asked for."""
    least: float | None = None
    """Least ratio of rates that is asked for."""
    threads: int = 1
    """Of both sides."""

    @property
    def work(self) -> float:
        """Useful FLOPs of the candidate in those of the reference where rates are compared, else 1."""
        return 1.0 if self.least is None else self.candidate.problem.flops() / self.reference.problem.flops()


HEADS = 4


def plain(**fields: object) -> AttentionProblem:
    """Return a problem of four heads."""
    return AttentionProblem(**{"heads": HEADS, "head_dim": 64, **fields})


def packed(lengths: list[int], **fields: object) -> AttentionProblem:
    """Return packed sequences of these lengths."""
    starts = tuple(int(start) for start in np.cumsum([0, *lengths]))
    return plain(cu_seqlens_q=starts, cu_seqlens_kv=starts, **fields)


def to_padded(length: int, threads: int, heads: int, *, causal: bool) -> Comparison:
    """Return `varlen` and `padded` on the same eight sequences of one length.

    Both compute the same tiles; that `padded` has heads apart, in rows side by side, is not timed.
    """
    problem = packed([length] * 8, heads=heads, causal=causal)
    masked = " causal" if causal else ""
    return Comparison(
        f"varlen of equal lengths in the rate of padded:{masked} 8 times {length}, {heads} heads, "
        f"threads={threads}",
        Side(problem, "varlen"),
        Side(problem, "padded"),
        least=0.95,
        threads=threads,
    )


EQUAL = Side(plain(batch=8, seq_q=512))
COMPARISONS = {
    "causal": Comparison(
        "causal at 4096 queries and keys in the time of full",
        Side(plain(seq_q=4096, causal=True)),
        Side(plain(seq_q=4096)),
        most=0.56,
    ),
    "window": Comparison(
        "window of 512 at 8192 queries and keys in the time of full",
        Side(plain(seq_q=8192, window=(511, 0), causal=True)),
        Side(plain(seq_q=8192)),
        most=0.12,
    ),
    "varlen-equal": Comparison(
        "varlen of equal lengths in the rate of flash", Side(packed([512] * 8), "varlen"), EQUAL, least=0.9
    ),
    "varlen-8": Comparison(
        "varlen at skew 8 : 1 in the rate of flash at equal lengths",
        Side(packed([1024, 896, 768, 512, 384, 256, 128, 128]), "varlen"),
        EQUAL,
        least=0.9,
    ),
    "varlen-32": Comparison(
        "varlen at skew 32 : 1 in the rate of flash at equal lengths",
        Side(packed([2048, 1024, 512, 256, 64, 64, 64, 64]), "varlen"),
        EQUAL,
        least=0.9,
    ),
    "padded-32": Comparison(
        "flash with key lengths at skew 32 : 1, padded, in the rate of flash at equal lengths",
        Side(plain(batch=8, seq_q=2048, kv_lengths=(2048, 1024, 512, 256, 64, 64, 64, 64))),
        EQUAL,
        least=0.0,
    ),
    **{
        f"varlen-padded-{length}-{threads}{'-causal' * causal}{f'-h{heads}' if heads != HEADS else ''}": (
            to_padded(length, threads, heads, causal=causal)
        )
        for heads in (1, HEADS, 8, 16)
        for length in (256, 512)
        for threads in (1, 2)
        for causal in (False, True)
    },
}
DECODE = Side(plain(heads=8, seq_q=1, seq_kv=16384))
LEAST_BANDWIDTH = 0.7


def bound(side: Side, threads: int = 1) -> BoundCall:
    """Build, load and bind a side, and warm it up."""
    executable = harness.build(side.problem, variant=side.variant, threads=threads).executable()
    call = executable.bind(make_inputs(side.problem))
    started = time.perf_counter()
    while time.perf_counter() - started < WARM_UP_S:
        call.run()
    return call


def reading() -> Callable[[], float]:
    """Return what measures the seconds in which NumPy adds up as many bytes as decoding reads."""
    source = np.ones(DECODE.problem.bytes() // 8)

    def read() -> float:
        started = time.perf_counter()
        source.sum()
        return time.perf_counter() - started

    return read


def rounds(first: Callable[[], float], second: Callable[[], float]) -> list[tuple[float, float]]:
    """Take turns, each side first in every other round."""
    taken = []
    for number in range(ROUNDS):
        if number % 2:
            after = second()
            taken.append((first(), after))
        else:
            before = first()
            taken.append((before, second()))
    return taken


def one_start(name: str) -> list[tuple[float, float]]:
    """Measure a comparison in this process."""
    if name == "decode":
        call = bound(DECODE)
        return rounds(lambda: call.sample(SAMPLE_S).seconds, reading())
    comparison = COMPARISONS[name]
    calls = [bound(side, comparison.threads) for side in (comparison.candidate, comparison.reference)]
    first, second = (lambda call=call: call.sample(SAMPLE_S).seconds for call in calls)
    return rounds(first, second)


def measured(name: str) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Measure a comparison in several processes: times of candidate and reference, and the starts."""
    taken, starts = [], []
    for start in range(STARTS):
        command = [sys.executable, __file__, "--start", name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        times = json.loads(done.stdout.splitlines()[-1])
        taken += times
        starts += [start] * len(times)
    candidate, reference = np.array(taken).T
    return candidate, reference, starts


def report(name: str) -> str:
    """Measure a comparison and say what came out."""
    candidate, reference, starts = measured(name)
    if name == "decode":
        found = paired_ratio(reference, candidate, starts)
        rate = DECODE.problem.bytes() / np.median(candidate) / 1e9
        summary, asked = "decode at 16384 keys in the bandwidth of reading", f"at least {LEAST_BANDWIDTH}"
        summary += f" ({rate:.1f} GB/s)"
    else:
        comparison = COMPARISONS[name]
        summary = comparison.summary
        if comparison.most is not None:
            found, asked = paired_ratio(candidate, reference, starts), f"at most {comparison.most}"
        else:
            found = paired_ratio(reference * comparison.work, candidate, starts)
            asked = f"at least {comparison.least}" if comparison.least else "to compare with"
    return f"{name:26} {found.value:.3f} [{found.low:.3f}, {found.high:.3f}] {asked}: {summary}"


def main() -> None:
    """Measure what the command line names, all by default."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help=", ".join([*COMPARISONS, "decode"]))
    parser.add_argument("--start", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.start:
        print(json.dumps(one_start(arguments.start)))
        return
    for name in arguments.names or [*COMPARISONS, "decode"]:
        print(report(name), flush=True)


if __name__ == "__main__":
    main()

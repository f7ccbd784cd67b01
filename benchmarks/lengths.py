"""What a call of `harness.attention` takes beyond its kernel, for batches of other lengths and for one shape.

    .venv/bin/python benchmarks/lengths.py [--batches 1000] [--threads 1]

Every batch has other sequences, and mostly another number of tokens; after them come calls of one problem
whose lengths are all the same.  Of each call the time of the kernel alone is subtracted: the same code, bound
to the same arrays, is run right after it.  Times are the process's own, so that nobody else's work counts.
Calls that build are counted by themselves.
"""

import argparse
import time
from typing import Any

import numpy as np

import harness
from harness import api
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import Inputs

HEADS, HEAD_DIM = 4, 64
MOST_SEQUENCES, LONGEST = 16, 128
ONE_SHAPE = (8, 4, 256, 64)
"""Batch, heads, queries and keys, width."""
LIMIT_MS, LIMIT_OF_ONE_SHAPE_MS = 1.0, 0.3


def batches(number: int, seed: int = 0) -> list[list[int]]:
    """Return the lengths of so many batches."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, MOST_SEQUENCES + 1, number)
    return [random.integers(1, LONGEST + 1, size).tolist() for size in sizes]


def of_lengths(lengths: list[int], threads: int) -> tuple[float, bool]:
    """Return what a call for packed sequences takes beyond its kernel, in ms, and whether it has built."""
    starts = tuple(int(start) for start in np.cumsum([0, *lengths]))
    fields = {"cu_seqlens_q": starts, "cu_seqlens_kv": starts}
    problem = AttentionProblem(heads=HEADS, head_dim=HEAD_DIM, **fields)
    return measured(problem, "varlen", threads, fields)


def of_one_shape(threads: int) -> tuple[float, bool]:
    """Return the same of a call for a batch of one length."""
    batch, heads, length, head_dim = ONE_SHAPE
    problem = AttentionProblem(batch=batch, heads=heads, seq_q=length, head_dim=head_dim)
    return measured(problem, "flash", threads, {})


def measured(
    problem: AttentionProblem, variant: str, threads: int, fields: dict[str, Any]
) -> tuple[float, bool]:
    """Return what a call takes beyond its kernel, in ms, and whether it has built."""
    random = np.random.default_rng(problem.q_shape[0])
    q, k, v = random.standard_normal((3, *problem.q_shape), dtype=np.float32)
    misses = api._loaded.cache_info().misses
    began = time.process_time()
    harness.attention(q, k, v, variant=variant, threads=threads, **fields)
    whole = time.process_time() - began
    case = api.complete_case(problem, variant, "cpu", {}, {"threads": threads})
    call = api._executable(case, None).bind(Inputs(q, k, v))
    call.run()
    began = time.process_time()
    call.run()
    kernel = time.process_time() - began
    return 1e3 * (whole - kernel), api._loaded.cache_info().misses > misses


def main() -> None:
    """Measure the batches that the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--batches", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    taken = [of_lengths(lengths, arguments.threads) for lengths in batches(arguments.batches)]
    report("batches", taken, LIMIT_MS)
    taken = [of_one_shape(arguments.threads) for _ in range(arguments.batches)]
    report("calls of one shape", taken, LIMIT_OF_ONE_SHAPE_MS)


def report(what: str, taken: list[tuple[float, bool]], limit_ms: float) -> None:
    """Print what calls that did not build take."""
    overheads = np.array([overhead for overhead, has_built in taken if not has_built])
    median, high = np.percentile(overheads, [50, 95])
    print(
        f"{len(taken)} {what}, {len(taken) - len(overheads)} builds; beyond the kernel a call takes "
        f"{median:.2f} ms (95 % of calls at most {high:.2f} ms), expected at most {limit_ms:g} ms"
    )


if __name__ == "__main__":
    main()

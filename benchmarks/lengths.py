"""What a call of `harness.attention` takes beyond its kernel, where each batch has other lengths.

    .venv/bin/python benchmarks/lengths.py [--batches 1000] [--threads 1]

Every batch has other sequences, and mostly another number of tokens.  Of each call the time of the kernel
alone is subtracted: the same code, bound to the same arrays, is run right after it.  Times are the
process's own, so that nobody else's work counts.  Calls that build are counted by themselves.
"""

import argparse
import time

import numpy as np

import harness
from harness import api
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import Inputs

HEADS, HEAD_DIM = 4, 64
MOST_SEQUENCES, LONGEST = 16, 128
LIMIT_MS = 2.0


def batches(number: int, seed: int = 0) -> list[list[int]]:
    """Return the lengths of so many batches."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, MOST_SEQUENCES + 1, number)
    return [random.integers(1, LONGEST + 1, size).tolist() for size in sizes]


def measured(lengths: list[int], threads: int) -> tuple[float, bool]:
    """Return what a call takes beyond its kernel, in ms, and whether it has built."""
    starts = tuple(int(start) for start in np.cumsum([0, *lengths]))
    random = np.random.default_rng(sum(lengths))
    q, k, v = random.standard_normal((3, starts[-1], HEADS, HEAD_DIM), dtype=np.float32)
    fields = {"cu_seqlens_q": starts, "cu_seqlens_kv": starts}
    misses = api._loaded.cache_info().misses
    began = time.process_time()
    harness.attention(q, k, v, variant="varlen", threads=threads, **fields)
    whole = time.process_time() - began
    problem = AttentionProblem(heads=HEADS, head_dim=HEAD_DIM, **fields)
    case = api.complete_case(problem, "varlen", "cpu", {}, {"threads": threads})
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
    taken = [measured(lengths, arguments.threads) for lengths in batches(arguments.batches)]
    overheads = np.array([overhead for overhead, has_built in taken if not has_built])
    median, high = np.percentile(overheads, [50, 95])
    print(
        f"{len(taken)} batches, {len(taken) - len(overheads)} builds; beyond the kernel a call takes "
        f"{median:.2f} ms (95 % of calls at most {high:.2f} ms), expected at most {LIMIT_MS:g} ms"
    )


if __name__ == "__main__":
    main()

"""Whether a problem's inputs and their oracle have room in memory, asked before anything is allocated."""

import math

from harness.bench.workers.process import WorkerFailure
from harness.problem.attention_problem import AttentionProblem
from harness.problem.dtypes import itemsize
from harness.problem.pages import pool_bytes
from harness.system.machine.memory import available_bytes
from harness.system.status import Status

EXACT_BYTES = 8
"""Of an element of the reference, in float64."""
GB = 1e9


def memory_shortage(
    problem: AttentionProblem, memory_gb: float | None, page_size: int | None = None
) -> WorkerFailure | None:
    """Return why a problem cannot be checked here, with what is needed and what there is; None if it can.

    `memory_gb` is the limit of the process that runs a case, if it has one; code that finds keys in pages of
    `page_size` tokens needs a pool of them besides the inputs.  Where memory is free later, a resumed run
    tries again.
    """
    needed_gb = (least_bytes(problem) + (0 if page_size is None else pool_bytes(problem, page_size))) / GB
    for limit_gb, word in ((available_bytes() / GB, "available"), (memory_gb or math.inf, "allowed")):
        if needed_gb > limit_gb:
            reason = (
                f"inputs and oracle need at least {needed_gb:.3g} GB of memory, {limit_gb:.3g} GB are {word}"
            )
            return WorkerFailure(Status.OUT_OF_MEMORY, reason, transient=True)
    return None


def least_bytes(problem: AttentionProblem) -> int:
    """Return what inputs and the oracle's reference, with what its rows need, take at least."""
    shapes = [
        problem.q_shape,
        problem.k_shape,
        problem.v_shape,
        *([problem.bias_shape] if problem.bias else []),
    ]
    stored = sum(map(math.prod, shapes)) * itemsize(problem.dtype)
    if problem.mask:
        stored += math.prod(problem.mask_shape)
    exact = math.prod(problem.attended_shape) + 3 * math.prod(problem.attended_shape[:-1])
    if problem.output_projection:
        exact += math.prod(problem.output_shape)
    return stored + EXACT_BYTES * exact

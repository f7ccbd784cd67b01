"""Whether a problem's inputs and their oracle have room in memory, asked before anything is allocated."""

import math

from harness.bench.workers.process import WorkerFailure
from harness.problem.attention_problem import AttentionProblem
from harness.problem.dtypes import itemsize
from harness.problem.pages import pool_bytes
from harness.system.machine.memory import available_bytes
from harness.system.status import Status

DRAWN_BYTES = 4
"""Of an element as it is drawn, in float32."""
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
    pages = 0 if page_size is None else pool_bytes(problem, page_size)
    of_case = input_bytes(problem) + pages
    for what, needed, there_is, word in (
        ("inputs and oracle", max(oracle_bytes(problem), of_case), available_bytes(), "available"),
        ("the inputs", of_case, math.inf if memory_gb is None else memory_gb * GB, "allowed"),
    ):
        if needed > there_is:
            reason = f"{what} need at least {needed / GB:.3g} GB of memory, {there_is / GB:.3g} GB are {word}"
            return WorkerFailure(Status.OUT_OF_MEMORY, reason, transient=True)
    return None


def input_bytes(problem: AttentionProblem) -> int:
    """Return what drawing a problem's inputs holds at once, at least: the draw, and what is kept."""
    elements = _input_elements(problem)
    copies = DRAWN_BYTES + (itemsize(problem.dtype) if itemsize(problem.dtype) < DRAWN_BYTES else 0)
    return elements * copies + _mask_elements(problem)


def oracle_bytes(problem: AttentionProblem) -> int:
    """Return what the oracle holds at once, at least: the inputs, and its reference with what rows need."""
    stored = _input_elements(problem) * itemsize(problem.dtype) + _mask_elements(problem)
    rows = math.prod(problem.attended_shape[:-1])
    reference = EXACT_BYTES * (math.prod(problem.attended_shape) + 3 * rows)
    if problem.output_projection:
        reference += EXACT_BYTES * math.prod(problem.output_shape)
    return max(input_bytes(problem), stored + reference)


def _input_elements(problem: AttentionProblem) -> int:
    shapes = [problem.q_shape, problem.k_shape, problem.v_shape]
    return sum(map(math.prod, [*shapes, *([problem.bias_shape] if problem.bias else [])]))


def _mask_elements(problem: AttentionProblem) -> int:
    return math.prod(problem.mask_shape) if problem.mask else 0

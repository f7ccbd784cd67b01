"""How wrong the plain implementation in the same precision is: the measure of what a candidate may be."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from harness.oracle.reference import Head, Reference, heads, plain_rows
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import Inputs
from harness.system.machine.cores import allotted_cores

UNDERFLOW_FACTOR = 64.0
"""Rows so many times as large as what underflow may change of them are right to the digits of their type."""
MIN_ROWS = 512
"""Fewer rows than this are measured in several orders of summation."""
MAX_ORDERS = 16
"""Orders of summation in which few rows are measured at most."""
MAX_SCORES = 2**24
"""Scores up to which the plain implementation is measured on every row; beyond, on a sample of blocks."""

Measurement = tuple[Head, slice, np.random.Generator | None]
"""Rows to measure, and what shuffles the order of summation; None: as it comes."""


def rows_that_underflow(exact: Reference) -> np.ndarray:
    """Return whether rows are so small that underflow is a large part of them."""
    return exact.scale <= UNDERFLOW_FACTOR * exact.underflow


@dataclass(frozen=True)
class PlainErrors:
    """Largest errors of the plain implementation relative to its row's scale."""

    in_range: float = 0.0
    """Of rows that do not underflow."""
    underflowing: float = 0.0
    """Of the others, beyond what underflow may change of them."""


def plain_errors(inputs: Inputs, problem: AttentionProblem, exact: Reference) -> PlainErrors:
    """Measure the plain implementation.

    Rows where it overflows, as f16 scores can, say nothing of the precision and are left out.
    """
    blocks = [(head, rows) for head in heads(inputs, problem) for rows in head.blocks()]
    underflows = rows_that_underflow(exact)

    def measured(measurement: Measurement) -> PlainErrors:
        head, rows, shuffle = measurement
        expected, scale = exact.output[head.index][rows], exact.scale[head.index][rows]
        small = underflows[head.index][rows]
        with np.errstate(over="ignore", invalid="ignore"):
            plain = plain_rows(head, rows, problem, shuffle).astype(np.float64)
            error = np.abs(plain - expected).max(axis=1)
        error = np.where(small, np.maximum(0, error - exact.underflow[head.index][rows]), error)
        usable = np.isfinite(error) & (scale > 0)
        relative, small = error[usable] / scale[usable], small[usable]
        return PlainErrors(
            in_range=float(np.max(relative[~small], initial=0.0)),
            underflowing=float(np.max(relative[small], initial=0.0)),
        )

    with ThreadPoolExecutor(allotted_cores()) as threads:
        errors = list(threads.map(measured, _measurements(blocks)))
    return PlainErrors(
        in_range=max((error.in_range for error in errors), default=0.0),
        underflowing=max((error.underflowing for error in errors), default=0.0),
    )


def _measurements(blocks: list[tuple[Head, slice]]) -> Iterator[Measurement]:
    """Yield which blocks of rows to measure, and in which order of summation (None: as it comes)."""
    if not blocks:
        return
    largest = max((rows.stop - rows.start) * len(head.k) for head, rows in blocks)
    affordable = max(8, MAX_SCORES // max(1, largest))
    chosen = np.unique(np.linspace(0, len(blocks) - 1, min(affordable, len(blocks))).round().astype(int))
    row_count = sum(blocks[block][1].stop - blocks[block][1].start for block in chosen)
    for order in range(min(MAX_ORDERS, -(-MIN_ROWS // row_count))):
        for block in chosen:
            yield *blocks[block], (np.random.default_rng(order) if order else None)

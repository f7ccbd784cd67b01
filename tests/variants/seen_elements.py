"""Which rows of the exact output see one element of the inputs, and inputs with another element there."""

from dataclasses import dataclass, replace

import numpy as np

from harness.oracle.reference import exact_attention, exact_output
from harness.problem.attention_problem import AttentionProblem
from harness.problem.dtypes import numpy_dtype
from harness.problem.inputs import ARRAYS, Inputs
from harness.problem.projections import ProjectionInputs

Place = tuple[int, ...]

ROUNDING = 1e-12
"""Sums in float64 of other numbers differ by less, and what an element changes of small problems by more."""


@dataclass(frozen=True)
class Seen:
    """Which elements of the exact outputs see an element of the inputs."""

    output: np.ndarray
    log_sum_exp: np.ndarray


def with_element(inputs: Inputs, name: str, place: Place, value: np.ndarray) -> Inputs:
    """Return inputs of which one array is a copy with another element, bit by bit."""
    arrays = inputs.arrays()
    arrays[name] = arrays[name].copy()
    bits = np.dtype(f"u{value.dtype.itemsize}")
    arrays[name].view(bits)[place] = value.view(bits)
    own = {name: arrays.pop(name) for name in ARRAYS if name in arrays}
    return replace(inputs, **own, projections=ProjectionInputs(**arrays) if inputs.projections else None)


def seen(inputs: Inputs, problem: AttentionProblem, name: str, place: Place) -> Seen:
    """Return what differs between the exact outputs of two numbers as that element.

    Nothing here depends on what NaN does.  A row whose score changes sees the element as a whole, whatever
    its output does: a row of one key gives that key's values, whatever their score is.
    """
    dtype = numpy_dtype(problem.dtype)
    (output, statistics), (other, others) = (
        _exact(with_element(inputs, name, place, np.array(value, dtype)), problem) for value in (0.25, -0.75)
    )
    scores = _differs(statistics, others)
    rows = scores.any(axis=1) if problem.output_projection else scores
    return Seen(_differs(output, other) | rows[..., None], scores)


def _differs(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return ~np.isclose(left, right, rtol=0, atol=ROUNDING, equal_nan=True)


def _exact(inputs: Inputs, problem: AttentionProblem) -> tuple[np.ndarray, np.ndarray]:
    attended = exact_attention(inputs, problem)
    return exact_output(attended, inputs).output, attended.log_sum_exp


def nans(dtype: str, draw: np.random.Generator, count: int) -> list[np.ndarray]:
    """Return NaNs: those with the lowest bit alone, the highest, and all; then of random payload and sign."""
    one = numpy_dtype(dtype)
    bits = np.dtype(f"u{one.itemsize}")
    infinity = int(np.array(np.inf, one).view(bits))
    sign, mantissa = 1 << 8 * one.itemsize - 1, infinity & -infinity
    payloads = [1, mantissa >> 1, mantissa - 1, *draw.integers(1, mantissa, count).tolist()]
    signs = [0, 0, sign, *(sign * draw.integers(0, 2, count)).tolist()]
    return [
        np.array(infinity | payload | sign_, bits).view(one)
        for payload, sign_ in zip(payloads, signs, strict=True)
    ]

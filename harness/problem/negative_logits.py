"""Logits so far below 0 that what stands for −∞ is above them where it is a number of convenience.

Libraries make a bias of a mask whose hidden pairs have the least finite number of the dtype, and whole rows
of it where padding is queried.  A running maximum starts below such numbers, and what hides a pair is −∞.
"""

import math

import ml_dtypes
import numpy as np

from harness.problem.attention_problem import AttentionProblem
from harness.problem.dtypes import numpy_dtype

LOWEST_LOGIT = -16384.0
"""Largest logit of `negative-logits`: every dtype holds it and twice as much, and −10⁴ is far above it."""

LOGIT_OF_F16 = -1280.0
"""The same of products of f16: those stored before they are scaled stay in its range."""

LOGIT_BESIDE_SINKS = -128.0
"""The same of products of f16 or bf16 that a sink is to weigh as much as: stored, they lose little."""


def negative_logit(problem: AttentionProblem) -> float:
    """Return the largest logit of the rows of `negative-logits`, but for the pairs that a bias hides."""
    if problem.bias or problem.dtype == "f32":
        return LOWEST_LOGIT
    if problem.sinks:
        return LOGIT_BESIDE_SINKS
    return LOGIT_OF_F16 if problem.dtype == "f16" else LOWEST_LOGIT


def finite_mask(problem: AttentionProblem) -> np.ndarray:
    """Return a bias, float32: the least number of the dtype where it hides a pair, elsewhere `LOWEST_LOGIT`.

    In turn it hides the first half of a row, as padding on the left does, all of the row, and every third
    key.  With scores of 0, whatever a row sees of one value weighs the same.
    """
    shape = problem.bias_shape
    row = np.arange(math.prod(shape[:-1])).reshape(*shape[:-1], 1) % 3
    key = np.arange(shape[-1])
    hides = np.where(row == 0, key < shape[-1] // 2, (row == 1) | (key % 3 == 1))
    least = float(ml_dtypes.finfo(numpy_dtype(problem.dtype)).min)
    return np.where(hides, least, LOWEST_LOGIT).astype(np.float32)

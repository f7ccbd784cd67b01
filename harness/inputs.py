"""Seeded random inputs of a problem, drawn from named distributions."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from harness.dtypes import numpy_dtype
from harness.errors import InputError
from harness.problem import AttentionProblem


@dataclass(frozen=True)
class Inputs:
    """The arrays of one problem, in the problem's dtype (mask: bool)."""

    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    mask: np.ndarray | None = None
    """Boolean, true where visible; broadcasts to [batch, heads, seq_q, seq_kv]."""
    bias: np.ndarray | None = None
    """Broadcasts like the mask."""


def make_inputs(problem: AttentionProblem, distribution: str = "normal", seed: int = 0) -> Inputs:
    """Draw the inputs of a problem; the same problem, distribution and seed give the same arrays."""
    raise InputError("not built yet")


DISTRIBUTIONS: dict[str, Callable[..., Inputs]] = {}

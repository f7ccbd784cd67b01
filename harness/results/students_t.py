"""Student's t distribution with whole degrees of freedom: its quantiles and its tail."""

import functools
import math

import numpy as np

BISECTIONS = 80


@functools.cache
def t_quantile(confidence: float, degrees: int) -> float:
    """Return the t that |T| stays below with this confidence; `degrees` of freedom, at least 1."""
    if degrees < 1:
        raise ValueError(f"degrees of freedom must be at least 1, found {degrees}")
    low, high = 0.0, math.pi / 2
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if float(_central_probability(np.float64(middle), degrees)) < confidence:
            low = middle
        else:
            high = middle
    return math.tan(low) * math.sqrt(degrees)


def t_tail(values: np.ndarray, degrees: int) -> np.ndarray:
    """Return the probability that T exceeds each value; `degrees` of freedom, at least 1.

    It is exact to about 1e-15: a smaller one may be 0.
    """
    if degrees < 1:
        raise ValueError(f"degrees of freedom must be at least 1, found {degrees}")
    central = _central_probability(np.arctan(np.abs(values) / math.sqrt(degrees)), degrees)
    tail = np.clip((1 - central) / 2, 0.0, 0.5)
    return np.where(values < 0, 1 - tail, tail)


def _central_probability(angle: np.ndarray | np.float64, degrees: int) -> np.ndarray | np.float64:
    """Return P(|T| < √degrees · tan angle).

    By the finite series of Abramowitz and Stegun, 26.7.3 and 26.7.4.
    """
    sine, cosine = np.sin(angle), np.cos(angle)
    term = cosine if degrees % 2 else np.ones_like(cosine)
    total = term if degrees > 1 else np.zeros_like(cosine)
    for k in range(3 if degrees % 2 else 2, degrees - 1, 2):
        term = term * (cosine**2 * (k - 1) / k)
        total = total + term
    if degrees % 2 == 0:
        return sine * total
    return 2 / math.pi * (angle + sine * total)

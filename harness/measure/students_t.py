"""Quantiles of Student's t distribution with whole degrees of freedom."""

import functools
import math

BISECTIONS = 80


@functools.cache
def t_quantile(confidence: float, degrees: int) -> float:
    """Return the t that |T| stays below with this confidence; `degrees` of freedom, at least 1."""
    if degrees < 1:
        raise ValueError(f"degrees of freedom must be at least 1, found {degrees}")
    low, high = 0.0, math.pi / 2
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if _central_probability(middle, degrees) < confidence:
            low = middle
        else:
            high = middle
    return math.tan(low) * math.sqrt(degrees)


def _central_probability(angle: float, degrees: int) -> float:
    """Return P(|T| < √degrees · tan angle).

    By the finite series of Abramowitz and Stegun, 26.7.3 and 26.7.4.
    """
    sine, cosine = math.sin(angle), math.cos(angle)
    term = cosine if degrees % 2 else 1.0
    total = term if degrees > 1 else 0.0
    for k in range(3 if degrees % 2 else 2, degrees - 1, 2):
        term *= cosine**2 * (k - 1) / k
        total += term
    if degrees % 2 == 0:
        return sine * total
    return 2 / math.pi * (angle + sine * total)

"""Ticks of logarithmic scales: numbers at two of them at least, however short the scale is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from harness.reporting.frames import format_value

if TYPE_CHECKING:
    from matplotlib.axis import Axis

LEAST_TICKS = 2
"""With one number nobody knows how long a scale is."""
MOST_TICKS = 8
"""Of more powers of the base every second, third … has a tick."""
BETWEEN_DECADES = (1, 2, 5)
MOST_STEPS = 4
"""Equal steps of a scale that is shorter than those between the decades."""
ROUND = (1, 2, 2.5, 5, 10)
"""Lengths of such steps, times a power of ten."""
EXACT = 9
"""Digits behind the point of logarithms: of a power of the base they give a whole number."""


def write_log_ticks(axis: Axis, low: float, high: float, base: int = 10) -> None:
    """Write numbers at ticks between two ends of an axis that has its logarithmic scale, and none beyond."""
    from matplotlib.ticker import NullFormatter

    ticks = log_ticks(low, high, base)
    between = [tick for tick in axis.get_minorticklocs() if low <= tick <= high]
    axis.set_ticks(ticks, [tick_text(tick) for tick in ticks])
    axis.set_ticks(between, minor=True)
    axis.set_minor_formatter(NullFormatter())


def log_ticks(low: float, high: float, base: int = 10) -> list[float]:
    """Return places of ticks: powers of the base where two fit in, else what divides decades, else steps."""
    if high / low >= base**LEAST_TICKS:
        powers = [float(base) ** power for power in _powers(low, high, base)]
        return powers[:: math.ceil(len(powers) / MOST_TICKS)]
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    divided = [float(f"{digit}e{decade}") for decade in decades for digit in BETWEEN_DECADES]
    ticks = [tick for tick in divided if low <= tick <= high]
    return ticks if len(ticks) >= LEAST_TICKS else _steps(low, high)


def _powers(low: float, high: float, base: int) -> range:
    """Return the powers of a base between two ends."""
    first, last = (round(math.log(end, base), EXACT) for end in (low, high))
    return range(math.ceil(first), math.floor(last) + 1)


def _steps(low: float, high: float) -> list[float]:
    """Return few round numbers of equal distances between two ends."""
    from matplotlib.ticker import MaxNLocator

    steps = MaxNLocator(MOST_STEPS, steps=ROUND, min_n_ticks=LEAST_TICKS).tick_values(low, high)
    return [float(f"{step:.12g}") for step in steps if low <= step <= high]


def tick_text(value: float) -> str:
    """Return what stands at a tick: no digits that say nothing."""
    if 1e-3 <= value < 1e5:
        return format_value(value)
    digits, exponent = f"{value:.5e}".split("e")
    return f"{float(digits):g}e{exponent}"

"""Numbers as people read them: three significant digits, and a unit that fits their size."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

EMPTY = "–"
"""What stands in a cell whose value was not measured; never 0."""


@dataclass(frozen=True)
class Unit:
    """A unit for a whole column or axis: `value in base unit × factor` is the number shown."""

    symbol: str
    factor: float


SECONDS = Unit("s", 1.0)
MILLISECONDS = Unit("ms", 1e3)
MICROSECONDS = Unit("µs", 1e6)

GFLOPS = Unit("GFLOP/s", 1e3)
"""From TFLOP/s, the unit of the column `tflops`."""
TFLOPS = Unit("TFLOP/s", 1.0)


def is_number(value: object) -> bool:
    """Whether a cell holds a measured, finite number."""
    if value is None or isinstance(value, str | bool):
        return False
    try:
        return math.isfinite(float(value))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False


def time_unit(seconds: Iterable[float]) -> Unit:
    """Choose seconds, milliseconds or microseconds by the median of the times."""
    times = sorted(value for value in seconds if is_number(value))
    if not times:
        return MILLISECONDS
    median = times[len(times) // 2]
    if median >= 1.0:
        return SECONDS
    return MILLISECONDS if median >= 1e-3 else MICROSECONDS


def rate_unit(tflops: Iterable[float]) -> Unit:
    """Choose TFLOP/s where the largest rate reaches one, else GFLOP/s."""
    largest = max((value for value in tflops if is_number(value)), default=0.0)
    return TFLOPS if largest >= 1.0 else GFLOPS


def significant(value: object, digits: int = 3) -> str:
    """Format a number with so many significant digits and no exponent; `–` where there is none.

    Very large and very small numbers, above 10⁶ and below 10⁻⁴, keep an exponent.
    """
    if isinstance(value, float) and math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if not is_number(value):
        return EMPTY
    number = float(value)  # type: ignore[arg-type]
    if number == 0:
        return "0"
    rounded = float(f"{number:.{digits - 1}e}")
    exponent = math.floor(math.log10(abs(rounded)))
    if exponent >= 6 or exponent < -4:
        return f"{number:.{digits - 1}e}"
    return f"{rounded:.{max(digits - 1 - exponent, 0)}f}"


def beside_limit(value: object, digits: int = 2) -> str:
    """Format a share of a limit, `0.31`, with as many more digits as show on which side of 1 it lies."""
    if not is_number(value):
        return significant(value, digits)
    number = float(value)  # type: ignore[arg-type]
    while number != 1 and not (float(significant(number, digits)) - 1) * (number - 1) > 0:
        digits += 1
    return significant(number, digits)


def scaled(value: object, factor: float, digits: int = 3) -> str:
    """Format a value in another unit, see `Unit`."""
    return significant(float(value) * factor, digits) if is_number(value) else EMPTY  # type: ignore[arg-type]


def interval(low: object, high: object, factor: float = 1.0) -> str:
    """Format `[12.1, 12.6]`, or `–` where the interval is not known."""
    if not (is_number(low) and is_number(high)):
        return EMPTY
    return f"[{scaled(low, factor)}, {scaled(high, factor)}]"


UNCLEAR = "≈"
UNCLEAR_NOTE = f"{UNCLEAR} no clear difference: the 95 % interval of the speed-up includes 1, or is not known"


def is_unclear(low: object, high: object) -> bool:
    """Whether the interval of a speed-up does not tell it from 1; one that is not known tells nothing."""
    return not (is_number(low) and is_number(high)) or float(low) <= 1 <= float(high)  # type: ignore[arg-type]


WIDE = "‡"
WIDE_NOTE = f"{WIDE} the interval of its time is wider than half of the time: give it a larger budget_s"
WIDEST = 0.5
"""Width of an interval over its value above which a row is marked."""


def is_wide(value: object, low: object, high: object) -> bool:
    """Whether a value is known within an interval that is wider than half of it."""
    if not (is_number(value) and is_number(low) and is_number(high)):
        return False
    return float(high) - float(low) > WIDEST * abs(float(value))  # type: ignore[arg-type]


def has_wide_interval(row: Mapping[str, Any]) -> bool:
    """Whether the time or the speed-up of a row is known within a wide interval only."""
    return is_wide(row["time_s"], row["time_low_s"], row["time_high_s"]) or is_wide(
        row["speedup"], row["speedup_low"], row["speedup_high"]
    )


def percent(value: object, digits: int = 3) -> str:
    """Format a share as a number of per cent, without the sign: it belongs in the header."""
    return scaled(value, 100.0, digits)

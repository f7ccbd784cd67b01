import math

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.reporting.units import (
    GFLOPS,
    MICROSECONDS,
    MILLISECONDS,
    SECONDS,
    TFLOPS,
    beside_limit,
    interval,
    percent,
    rate_unit,
    scaled,
    significant,
    time_unit,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.05123, "0.0512"),
        (1.0, "1.00"),
        (12.345, "12.3"),
        (999.6, "1000"),
        (5123.0, "5120"),
        (0, "0"),
        (3.14159e-5, "3.14e-05"),
        (2.5e7, "2.50e+07"),
        (-1.239, "-1.24"),
        (math.inf, "∞"),
    ],
)
def test_three_significant_digits(value: float, text: str) -> None:
    assert significant(value) == text


@pytest.mark.parametrize("missing", [None, math.nan, pd.NA, "12", True])
def test_what_is_no_measured_number_is_a_dash(missing: object) -> None:
    assert significant(missing) == "–"
    assert percent(missing) == "–"
    assert scaled(missing, 1e3) == "–"
    assert interval(missing, 1.0) == "–"


@given(st.floats(min_value=1e-4, max_value=9e5))
def test_rounding_keeps_a_number_within_half_a_per_cent(value: float) -> None:
    assert float(significant(value)) == pytest.approx(value, rel=5.001e-3)


def test_an_interval_is_scaled_to_its_unit() -> None:
    assert interval(0.01234, 0.01256, MILLISECONDS.factor) == "[12.3, 12.6]"


@pytest.mark.parametrize(
    ("seconds", "unit"),
    [([2.0, 3.0], SECONDS), ([0.5, 0.001], MILLISECONDS), ([5e-5], MICROSECONDS), ([], MILLISECONDS)],
)
def test_time_unit_follows_the_median(seconds: list[float], unit: object) -> None:
    assert time_unit(seconds) == unit


@pytest.mark.parametrize(
    ("seconds", "shown"), [(2.5, "2.50 s"), (2.5e-3, "2.50 ms"), (2.5e-4, "250 µs"), (2.5e-6, "2.50 µs")]
)
def test_a_time_is_shown_with_the_symbol_of_its_unit(seconds: float, shown: str) -> None:
    unit = time_unit([seconds])
    assert f"{scaled(seconds, unit.factor)} {unit.symbol}" == shown


@pytest.mark.parametrize(
    ("tflops", "unit"), [([0.2, 0.9], GFLOPS), ([0.2, 1.5], TFLOPS), ([math.nan], GFLOPS)]
)
def test_rate_unit_follows_the_largest(tflops: list[float], unit: object) -> None:
    assert rate_unit(tflops) == unit


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (0.314, "0.31"),
        (0.996, "0.996"),
        (1.04, "1.04"),
        (1.0004, "1.0004"),
        (0.9996, "0.9996"),
        (1.0, "1.0"),
        (37.2, "37"),
        (math.inf, "∞"),
        (None, "–"),
    ],
)
def test_a_share_of_a_limit_shows_on_which_side_it_lies(ratio: float | None, text: str) -> None:
    assert beside_limit(ratio) == text

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.reporting.number_texts import float_text, float_texts

usual = st.floats(1e-7, 1e12) | st.integers(1, 10**7).map(lambda whole: whole / 1000)
ties = st.builds(lambda whole, places: (whole + 0.5) / 10**places, st.integers(1, 10**6), st.integers(0, 9))
numbers = st.lists(st.floats(allow_nan=False).filter(lambda value: value != 0) | usual | ties)


@given(numbers, st.sampled_from([None, 3, 6, 9]))
def test_many_numbers_are_written_as_each_of_them(values: list[float], digits: int | None) -> None:
    expected = [float_text(value, digits) for value in values]
    assert float_texts(np.array(values, dtype=float), digits).to_pylist() == expected


def test_a_number_in_full_is_read_as_itself() -> None:
    values = np.exp(np.random.default_rng(1).uniform(-30, 30, 20_000))
    assert [float(text) for text in float_texts(values).to_pylist()] == values.tolist()


@pytest.mark.parametrize("power", range(-8, 12))
def test_numbers_beside_a_power_of_ten_have_its_digits(power: int) -> None:
    value = 10.0**power
    beside = [math.nextafter(value, 0), value, math.nextafter(value, math.inf), value * 0.99999951]
    for digits in (None, 6):
        assert float_texts(np.array(beside), digits).to_pylist() == [float_text(it, digits) for it in beside]


def test_what_is_no_number_has_no_text() -> None:
    assert float_texts(np.array([math.nan, 0.5, math.nan])).to_pylist() == ["", "0.5", ""]

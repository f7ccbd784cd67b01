import numpy as np
import pytest

from harness.results.students_t import t_quantile, t_tail


@pytest.mark.parametrize(
    ("confidence", "degrees", "expected"),
    [
        (0.95, 1, 12.706),
        (0.95, 2, 4.303),
        (0.95, 4, 2.776),
        (0.95, 5, 2.571),
        (0.95, 9, 2.262),
        (0.95, 30, 2.042),
        (0.90, 3, 2.353),
        (0.99, 8, 3.355),
    ],
)
def test_quantiles_are_those_of_the_printed_tables(confidence: float, degrees: int, expected: float) -> None:
    assert t_quantile(confidence, degrees) == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize("degrees", [1, 2, 5, 30, 100])
def test_the_tail_is_what_lies_beyond_a_quantile(degrees: int) -> None:
    quantile = t_quantile(0.95, degrees)
    tail = t_tail(np.array([-quantile, -np.inf, 0.0, quantile, np.inf]), degrees)
    assert tail == pytest.approx([0.975, 1.0, 0.5, 0.025, 0.0], abs=1e-12)


def test_far_out_the_tail_of_few_degrees_is_heavy() -> None:
    """Of one degree T is Cauchy's, of two its tail is (1 − t/√(2 + t²))/2."""
    assert t_tail(np.array([1e3]), 1) == pytest.approx([1 / (np.pi * 1e3)], rel=1e-6)
    assert t_tail(np.array([50.0]), 2) == pytest.approx([(1 - 50 / np.sqrt(2502)) / 2], rel=1e-9)

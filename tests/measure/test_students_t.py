import pytest

from harness.measure.students_t import t_quantile


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


def test_without_a_degree_of_freedom_there_is_no_quantile() -> None:
    with pytest.raises(ValueError, match="at least 1, found 0"):
        t_quantile(0.95, 0)

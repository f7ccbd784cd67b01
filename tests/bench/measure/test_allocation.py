"""How many rounds a start is worth."""

import math

import numpy as np

from harness.bench.measure.allocation import best_rounds


def drawn(between: float, within: float, starts: int = 200, rounds: int = 10) -> list[list[float]]:
    generator = np.random.default_rng(0)
    means = generator.normal(0, between, starts)
    return [list(generator.normal(mean, within, rounds)) for mean in means]


def test_rounds_follow_from_what_varies_and_what_it_costs() -> None:
    assert best_rounds(drawn(0.01, 0.03), start_s=4.0, round_s=1.0) == np.float64(
        best_rounds(drawn(0.01, 0.03), start_s=1.0, round_s=1.0) * 2
    )
    assert math.isclose(best_rounds(drawn(0.01, 0.03), start_s=4.0, round_s=1.0), 6.0, rel_tol=0.25)


def test_starts_that_vary_most_need_one_round() -> None:
    assert best_rounds(drawn(0.1, 0.001), start_s=1.0, round_s=1.0) == 1.0


def test_starts_that_do_not_vary_are_sampled_on() -> None:
    assert best_rounds([[0.0, 0.1], [0.1, 0.0], [0.0, 0.1]], start_s=1.0, round_s=1.0) == math.inf


def test_of_one_start_nothing_is_known() -> None:
    assert best_rounds([[0.0, 0.1]], start_s=1.0, round_s=1.0) == 1.0

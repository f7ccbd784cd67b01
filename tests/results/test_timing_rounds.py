"""Rounds of interleaved timing, as a run keeps them."""

from example_results import example_round

from harness.results.timing_rounds import paired_samples


def test_samples_pair_over_the_rounds_that_all_cases_took_part_in():
    rounds = [
        example_round(0, seconds={"a": [1.0], "b": [2.0]}),
        example_round(1, seconds={"a": [3.0]}),
        example_round(2, seconds={"a": [4.0, 5.0], "b": [6.0]}),
        example_round(3, seconds={"a": [7.0]}),
    ]
    assert paired_samples(rounds, "a", "b") == [[[1.0], [4.0, 5.0]], [[2.0], [6.0]]]

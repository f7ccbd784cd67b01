from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from harness.bench.measure.turns import steady_seconds


def typical_seconds(samples: Mapping[str, Sequence[float | None]]) -> dict[str, float]:
    """Return the medians of steady seconds, of candidates that have any."""
    steady = steady_seconds(samples).items()
    return {name: float(np.nanmedian(own)) for name, own in steady if np.isfinite(own).any()}


def test_two_candidates_are_compared_turn_by_turn() -> None:
    """Each turn is as slow as it likes: the ratio is 2 in all but one, that of the medians 10 / 3."""
    typical = typical_seconds({"a": [1.0, 3.0, 5.0], "b": [20.0, 6.0, 10.0]})
    assert typical["b"] / typical["a"] == pytest.approx(2.0)


def test_a_hiccup_of_one_candidate_is_no_slow_turn() -> None:
    hiccups = {"a": [9.0, 1.0, 1.0, 1.0], "b": [2.0, 18.0, 2.0, 2.0], "c": [3.0] * 4, "d": [4.0] * 4}
    assert typical_seconds(hiccups) == pytest.approx({"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0})


def test_missing_samples_are_not_compared_with_other_turns() -> None:
    """The machine is twice as slow in the turns in which c has samples."""
    typical = typical_seconds(
        {"a": [1.0, 1.0, 1.0, 2.0, 2.0], "b": [3.0, 3.0, 3.0, 6.0, 6.0], "c": [None, None, None, 4.0, 4.0]}
    )
    assert typical == pytest.approx({"a": 1.0, "b": 3.0, "c": 2.0})


def test_ratios_vary_less_than_those_of_medians_where_the_machine_has_two_speeds() -> None:
    random = np.random.default_rng(3)
    polished, medians = [], []
    for _ in range(200):
        speeds = np.where(random.random(15) < 0.5, 1.0, 1.4)
        times = speeds * random.lognormal(0, 0.03, (6, 15))
        typical = typical_seconds({str(number): list(row) for number, row in enumerate(times)})
        polished.append(np.log(typical["1"] / typical["0"]))
        medians.append(np.log(np.median(times[1]) / np.median(times[0])))
    assert np.std(polished) < 0.8 * np.std(medians)
    assert abs(np.mean(polished)) < 0.005

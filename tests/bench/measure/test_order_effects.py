"""Effects of the candidate that ran before are found where there are some, and only there."""

import numpy as np
import pytest
from test_rounds import Machine

from harness.bench.measure.order_effects import order_effects_of_rounds, times_after

NOISE = 0.01


def noisy_machine(seed: int, effects: dict[tuple[str, str], float], count: int = 4) -> Machine:
    """Candidates of some per cent of noise, of which some take longer right after others."""
    draw = np.random.default_rng(seed)
    names = [f"c{number}" for number in range(count)]
    machine = Machine({}, sample_s=0.001)
    machine.start_s = 0.01

    def seconds_of(name: str):
        def seconds(_: int) -> float:
            before = machine.turns[-2] if len(machine.turns) > 1 else ""
            return 1e-3 * (1 + effects.get((name, before), 0.0)) * (1 + NOISE * draw.standard_normal())

        return seconds

    machine.seconds = {name: seconds_of(name) for name in names}
    return machine


def effects_of(machine: Machine) -> dict[str, tuple[str, float]]:
    timer = machine.timer(starts=5, min_rounds=200, max_rounds=200, interval=1e-6)
    found = order_effects_of_rounds(timer.run())
    return {name: (effect.predecessor, effect.ratio.value - 1) for name, effect in found.items()}


def test_an_effect_of_a_predecessor_is_found_and_named() -> None:
    found = effects_of(noisy_machine(1, {("c2", "c0"): 0.08}))
    assert set(found) == {"c2"}
    predecessor, share = found["c2"]
    assert predecessor == "c0"
    assert share == pytest.approx(0.08, abs=0.02)


def test_without_an_effect_nothing_is_found() -> None:
    assert [effects_of(noisy_machine(seed, {})) for seed in range(10)] == [{}] * 10


def test_a_sample_after_nobody_or_after_itself_does_not_count() -> None:
    found = times_after({"a": [5.0, 1.0, 1.0, 2.0]}, {"a": [None, "b", "a", "c"]})
    assert found == {"a": {"b": pytest.approx(1 / 1.5), "c": pytest.approx(2 / 1.5)}}

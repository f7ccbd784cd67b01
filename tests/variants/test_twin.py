"""Twins are the same machine code; a slowed one takes longer by what was asked for."""

from pathlib import Path

import numpy as np
import pytest

from harness import plugins
from harness.artifact.bound_call import BoundCall
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.targets.cpu.launch import OBJECT_FILE
from harness.variants import slowed_call

PROBLEM = AttentionProblem(heads=1, seq_q=32, head_dim=16)


def machine_code(folder: Path, variant: str, **params: float) -> bytes:
    case = Case(problem=PROBLEM, variant=variant, target="cpu", params=params)
    folder.mkdir()
    plugins.variant(variant).build(case, "key", folder)
    return (folder / OBJECT_FILE).read_bytes()


def test_copies_have_the_machine_code_of_flash(tmp_path: Path) -> None:
    flash = machine_code(tmp_path / "flash", "flash")
    assert machine_code(tmp_path / "first", "twin", number=1) == flash
    assert machine_code(tmp_path / "slowed", "slowed-twin", by=0.03) == flash


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 0.001
        return self.now


class Call(BoundCall):
    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def poison(self) -> None: ...

    def run(self) -> None:
        self.clock.now += 1.0

    def output(self) -> np.ndarray:
        return np.ones(1)


@pytest.mark.parametrize("by", [0.0, 0.5])
def test_a_slowed_call_takes_longer_by_its_share(by: float, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(slowed_call.time, "perf_counter", clock)
    slowed_call.SlowedCall(Call(clock), by).run()
    assert clock.now == pytest.approx(1 + by, abs=0.005)


def test_what_slowing_itself_takes_is_a_part_of_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at the clock takes a millisecond: three of them, beside the one of the wait, are not added."""
    clock = Clock()
    monkeypatch.setattr(slowed_call.time, "perf_counter", clock)
    call = slowed_call.SlowedCall(Call(clock), 0.03)
    call.measure_itself()
    before = clock.now
    call.run()
    assert clock.now - before == pytest.approx(1.03, abs=0.0011)

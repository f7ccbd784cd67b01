"""The calls of `slowed-twin`, which take longer than those of `flash` by a known share."""

import time
from contextlib import AbstractContextManager
from pathlib import Path
from statistics import median

import numpy as np

from harness.artifact.artifact import Artifact
from harness.artifact.bound_call import BoundCall, Executable
from harness.problem.inputs import Inputs
from harness.targets.cpu import executable
from harness.variants.twin import SlowedParameters

EMPTY_SAMPLES = 9
EMPTY_SAMPLE_S = 0.001


def load(artifact: Artifact, folder: Path) -> Executable:
    """Load the code of `SlowedTwin`."""
    parameters = SlowedParameters.model_validate(artifact.case.params)
    return SlowedExecutable(executable.load(artifact, folder), parameters.by)


class SlowedExecutable(Executable):
    """An executable whose calls take longer."""

    def __init__(self, own: Executable, by: float) -> None:
        self._executable = own
        self._by = by

    def bind(self, inputs: Inputs) -> BoundCall:
        """Bind the code to inputs."""
        call = SlowedCall(self._executable.bind(inputs), self._by)
        call.measure_itself()
        return call

    def turn(self) -> AbstractContextManager[object]:
        """Return the turn of the code."""
        return self._executable.turn()


class SlowedCall(BoundCall):
    """A call that spins on after its result is there."""

    def __init__(self, call: BoundCall, by: float) -> None:
        self._call = call
        self._by = by
        self._own_s = 0.0
        """What taking the time takes, which counts as a part of the wait."""

    def poison(self) -> None:
        """Fill outputs and scratch memory with NaN."""
        self._call.poison()

    def poison_outputs(self) -> None:
        """Fill outputs with NaN."""
        self._call.poison_outputs()

    def take_inputs(self, inputs: Inputs) -> bool:
        """Let the twin's call take them."""
        return self._call.take_inputs(inputs)

    def measure_itself(self) -> None:
        """Find out by how much such a call takes longer than the call in it, without a wait."""
        self._own_s = max(0.0, _typical_seconds(SlowedCall(NoCall(), by=0.0)) - _typical_seconds(NoCall()))

    def run(self) -> None:
        """Run, then spin for a share of the time that it took."""
        started = time.perf_counter()
        self._call.run()
        ended = time.perf_counter()
        end = ended + self._by * (ended - started) - self._own_s
        while time.perf_counter() < end:
            pass

    def output(self) -> np.ndarray:
        """Return the output of the last run."""
        return self._call.output()

    def outputs(self) -> dict[str, np.ndarray]:
        """Return what the twin's call gives."""
        return self._call.outputs()


class NoCall(BoundCall):
    """A call that does nothing."""

    def poison(self) -> None:
        """Nothing to fill."""

    def run(self) -> None:
        """Do nothing."""

    def output(self) -> np.ndarray:
        """Return nothing."""
        return np.empty(0)


def _typical_seconds(call: BoundCall) -> float:
    return median(call.sample(EMPTY_SAMPLE_S).seconds for _ in range(EMPTY_SAMPLES))

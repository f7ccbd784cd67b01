"""The calls of `slowed-twin`, which take longer than those of `flash` by a known share."""

import time
from pathlib import Path
from statistics import median

import numpy as np

from harness.artifact.artifact import Artifact
from harness.artifact.bound_call import BoundCall, Executable, Sample
from harness.artifact.wrapped import WrappedCall, WrappedExecutable
from harness.problem.inputs import Inputs
from harness.targets.cpu import executable
from harness.variants.twin import SlowedParameters

EMPTY_SAMPLES = 9
EMPTY_SAMPLE_S = 0.001


def load(artifact: Artifact, folder: Path) -> Executable:
    """Load the code of `SlowedTwin`."""
    parameters = SlowedParameters.model_validate(artifact.case.params)
    return SlowedExecutable(executable.load(artifact, folder), parameters.by)


class SlowedExecutable(WrappedExecutable):
    """An executable whose calls take longer."""

    def __init__(self, code: Executable, by: float) -> None:
        super().__init__(code)
        self._by = by

    def bind(self, inputs: Inputs) -> BoundCall:
        """Bind the code to inputs."""
        call = SlowedCall(self.code.bind(inputs), self._by)
        call.measure_itself()
        return call


class SlowedCall(WrappedCall):
    """A call that spins on after its result is there."""

    def __init__(self, call: BoundCall, by: float) -> None:
        super().__init__(call)
        self._by = by
        self._own_s = 0.0
        """What taking the time takes, which counts as a part of the wait."""

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

    def sample(self, min_seconds: float) -> Sample:
        """Take a sample of such calls."""
        return BoundCall.sample(self, min_seconds)

    sample_graphs = sample


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

"""Variants that look fast and are not: each is right whenever it is checked, and none may get a time."""

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from attention_example.variant import NumpyAttention, NumpyCall, NumpyExecutable
from harness.artifact.artifact import Artifact
from harness.artifact.bound_call import Sample
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import Inputs


class Cheating(NumpyAttention):
    """Loads calls of the variant's own class."""

    loader = "attention_example.cheating:load"


class BoundAnew(NumpyCall):
    """A call with copies of its inputs, which is bound anew to other ones."""

    def __init__(self, problem: AttentionProblem, inputs: Inputs, block: int) -> None:
        copies = replace(inputs, q=inputs.q.copy(), k=inputs.k.copy(), v=inputs.v.copy())
        super().__init__(problem, copies, block)

    def take_inputs(self, inputs: Inputs) -> bool:
        """Ask for another call."""
        return False


class Caches(Cheating):
    """Computes once, and hands out the same output from then on."""

    name = "caches"

    class Call(NumpyCall):
        """Keeps the output of the first run."""

        kept: np.ndarray | None = None

        def run(self) -> None:
            """Compute once."""
            if self.kept is None:
                super().run()
                self.kept = self.result.copy()
            self.result[...] = self.kept


class ReturnsEarly(Cheating):
    """Returns when a thread has been told to compute; who reads the output waits."""

    name = "returns-early"

    class Call(NumpyCall):
        """Computes in the background."""

        pool: ClassVar[ThreadPoolExecutor] = ThreadPoolExecutor(1)
        pending: Future[None] | None = None

        def poison(self) -> None:
            """Wait, then fill the output with NaN."""
            self.wait()
            super().poison()

        def run(self) -> None:
            """Let another thread compute."""
            self.pending = self.pool.submit(super().run)

        def output(self) -> np.ndarray:
            """Wait, and return the output."""
            self.wait()
            return super().output()

        def wait(self) -> None:
            """Wait for the last run."""
            if self.pending is not None:
                self.pending.result()


class SaysMilliseconds(Cheating):
    """Says milliseconds where seconds are asked for, as the events of a device do."""

    name = "says-milliseconds"

    class Call(NumpyCall):
        """Takes samples of its own."""

        def sample(self, min_seconds: float) -> Sample:
            """Say a thousand times what a call takes."""
            taken = super().sample(min_seconds)
            return Sample(seconds=taken.seconds * 1e3, calls=taken.calls)


class SaysTotals(Cheating):
    """Says the time of all calls where that of one is asked for."""

    name = "says-totals"

    class Call(NumpyCall):
        """Takes samples of its own."""

        def sample(self, min_seconds: float) -> Sample:
            """Say what all calls take."""
            taken = super().sample(min_seconds)
            return Sample(seconds=taken.seconds * taken.calls, calls=taken.calls)


class ComputesWhenRead(Cheating):
    """Leaves the product with V to whoever reads the output."""

    name = "computes-when-read"

    class Call(NumpyCall):
        """Keeps probabilities, each time those of the last call."""

        weights: np.ndarray | None = None

        def run(self) -> None:
            """Compute probabilities."""
            scores = self.problem.scale * (self.inputs.q @ self.inputs.k.swapaxes(-1, -2))
            weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
            self.weights = weights / weights.sum(axis=-1, keepdims=True)

        def output(self) -> np.ndarray:
            """Compute their product with V."""
            return np.matmul(self.weights, self.inputs.v)


class ReadsSlowly(Cheating):
    """Leaves all to whoever reads the output, with inputs of its own."""

    name = "reads-slowly"

    class Call(BoundAnew):
        """Computes whenever its output is read."""

        def run(self) -> None:
            """Do nothing yet."""

        def output(self) -> np.ndarray:
            """Compute."""
            super().run()
            return self.result


CALLS: dict[str, type[NumpyCall]] = {
    variant.name: variant.Call
    for variant in (
        Caches,
        ReturnsEarly,
        SaysMilliseconds,
        SaysTotals,
        ComputesWhenRead,
        ReadsSlowly,
    )
}


def load(artifact: Artifact, folder: Path) -> NumpyExecutable:
    """Load a built artifact."""
    executable = NumpyExecutable(artifact)
    executable.call = CALLS[artifact.case.variant]
    return executable

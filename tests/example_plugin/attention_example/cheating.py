"""Variants that look fast and are not: each is right whenever it is checked, and none may get a time."""

from dataclasses import replace
from pathlib import Path

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
        return False


class Caches(Cheating):
    """Computes once, and hands out the same output from then on."""

    name = "caches"

    class Call(NumpyCall):
        kept: np.ndarray | None = None

        def run(self) -> None:
            if self.kept is None:
                super().run()
                self.kept = self.result.copy()
            self.result[...] = self.kept


class SaysMilliseconds(Cheating):
    """Says milliseconds where seconds are asked for, as the events of a device do."""

    name = "says-milliseconds"

    class Call(NumpyCall):
        def sample(self, min_seconds: float) -> Sample:
            taken = super().sample(min_seconds)
            return Sample(seconds=taken.seconds * 1e3, calls=taken.calls)


class ReadsSlowly(Cheating):
    """Leaves all to whoever reads the output, with inputs of its own."""

    name = "reads-slowly"

    class Call(BoundAnew):
        def run(self) -> None:
            """Do nothing yet."""

        def output(self) -> np.ndarray:
            super().run()
            return self.result


CALLS: dict[str, type[NumpyCall]] = {
    variant.name: variant.Call
    for variant in (
        Caches,
        SaysMilliseconds,
        ReadsSlowly,
    )
}


def load(artifact: Artifact, folder: Path) -> NumpyExecutable:
    """Load a built artifact."""
    executable = NumpyExecutable(artifact)
    executable.call = CALLS[artifact.case.variant]
    return executable

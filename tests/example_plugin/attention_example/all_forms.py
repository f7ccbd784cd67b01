"""Variants of all forms of attention, as the oracle's plain implementation computes them."""

from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from attention_example.variant import NumpyAttention, NumpyCall, NumpyExecutable
from harness.artifact.artifact import Artifact
from harness.oracle.expected import same_precision
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import Inputs


class PlainCall(NumpyCall):
    """Computes with whatever inputs there are."""

    def run(self) -> None:
        """Compute all of it."""
        self.result = same_precision(self.inputs.as_expected(self.problem), self.problem)


class KeepingCall(PlainCall):
    """Has the mask, bias, sinks and weights that this process has had first for a shape."""

    kept: ClassVar[dict[tuple[object, ...], np.ndarray]] = {}

    def __init__(self, problem: AttentionProblem, inputs: Inputs, block: int) -> None:
        own = {
            name: self.converted(name, array)
            for name in ("mask", "bias", "sinks")
            if (array := getattr(inputs, name)) is not None
        }
        if inputs.projections is not None:
            weights = {
                name: self.converted(name, array)
                for name, array in inputs.projections.arrays().items()
                if name != "tokens"
            }
            own["projections"] = replace(inputs.projections, **weights)
        super().__init__(problem, replace(inputs, **own), block)

    def take_inputs(self, inputs: Inputs) -> bool:
        """Ask for another call."""
        return False

    def converted(self, name: str, array: np.ndarray) -> np.ndarray:
        """Return a copy, which is made once."""
        return self.kept.setdefault((name, array.shape, *self.known_by(array)), array.copy())

    def known_by(self, array: np.ndarray) -> tuple[object, ...]:
        """Return by what an array is known again, besides its shape."""
        return ()


class CallThatKnowsBeginnings(KeepingCall):
    """Has those that this process has had first for a shape and a first row."""

    def known_by(self, array: np.ndarray) -> tuple[object, ...]:
        """Return the first row."""
        return (array.reshape(-1, array.shape[-1])[0].tobytes(),)


class LateProjectingCall(PlainCall):
    """Keeps tokens when it runs, and computes with them when its output is read."""

    def run(self) -> None:
        """Take as long as all of it, and copy the tokens."""
        super().run()
        projections = self.inputs.projections
        assert projections is not None
        self.copied = replace(projections, tokens=projections.tokens.copy())

    def output(self) -> np.ndarray:
        """Compute, with the weights that there are."""
        inputs = replace(self.inputs, projections=self.copied)
        self.result = same_precision(inputs.as_expected(self.problem), self.problem)
        return self.result


class AllForms(NumpyAttention):
    """Right for all forms."""

    name = "all-forms"
    loader = "attention_example.all_forms:load"

    def supports(self, problem: AttentionProblem, target: str) -> str | None:
        """Return None for whatever problem."""
        return None


class KeepsOperands(AllForms):
    """Keeps what it has converted of operands."""

    name = "keeps-operands"


class KnowsBeginnings(AllForms):
    """Keeps what it has converted of operands, by their first rows."""

    name = "knows-beginnings"


class ProjectsWhenRead(AllForms):
    """Leaves projections to whoever reads the output."""

    name = "projects-when-read"


CALLS: dict[str, type[NumpyCall]] = {
    KeepsOperands.name: KeepingCall,
    KnowsBeginnings.name: CallThatKnowsBeginnings,
    ProjectsWhenRead.name: LateProjectingCall,
}


def load(artifact: Artifact, folder: Path) -> NumpyExecutable:
    """Load a built artifact."""
    executable = NumpyExecutable(artifact)
    executable.call = CALLS.get(artifact.case.variant, PlainCall)
    return executable

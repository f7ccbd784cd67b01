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
        return self.kept.setdefault((name, array.shape), array.copy())


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


def load(artifact: Artifact, folder: Path) -> NumpyExecutable:
    """Load a built artifact."""
    executable = NumpyExecutable(artifact)
    executable.call = KeepingCall if artifact.case.variant == KeepsOperands.name else PlainCall
    return executable

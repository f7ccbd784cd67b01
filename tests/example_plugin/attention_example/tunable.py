"""The variant `tunable`: by its parameters faster, slower, wrong or impossible, for tests of searches."""

from pathlib import Path
from typing import Annotated, Literal

from attention_example.variant import NumpyAttention, NumpyCall, NumpyExecutable
from harness.artifact.artifact import Artifact
from harness.experiment.searched import Searched
from harness.problem.case import Case, ParameterValue
from harness.problem.inputs import Inputs
from harness.variants.base import Parameters

USUAL_REPEATS = 8


class TunableParameters(Parameters):
    """How often it computes everything, and what it does besides."""

    repeats: Annotated[int | None, Searched((1, 2, 8, 16))] = None
    """Times that the output is computed; 8 if not set."""
    trick: Annotated[Literal["plain", "skip", "impossible"] | None, Searched()] = None
    """`skip` leaves rows out, which is fast and wrong; `impossible` is refused before a build."""
    block: int = 64


class Tunable(NumpyAttention):
    """Right, and faster the less it repeats itself."""

    name = "tunable"
    parameters = TunableParameters
    loader = "attention_example.tunable:load"

    def chosen(self, case: Case) -> dict[str, ParameterValue]:
        """Return what is left open."""
        usual: dict[str, ParameterValue] = {"repeats": USUAL_REPEATS, "trick": "plain"}
        return {name: value for name, value in usual.items() if name not in case.params}

    def why_unbuildable(self, case: Case) -> str | None:
        """Refuse what is impossible."""
        return "an impossible trick" if case.params.get("trick") == "impossible" else None


class TunableCall(NumpyCall):
    """Computes as often as it is told."""

    repeats = USUAL_REPEATS
    skips = False

    def run(self) -> None:
        if self.skips:
            self.result[:] = 0
            return
        for _ in range(self.repeats):
            super().run()


class TunableExecutable(NumpyExecutable):
    """Binds such calls."""

    def bind(self, inputs: Inputs) -> NumpyCall:
        parameters = TunableParameters.model_validate(self.case.params)
        call = TunableCall(self.case.problem, inputs, parameters.block)
        call.repeats, call.skips = parameters.repeats or USUAL_REPEATS, parameters.trick == "skip"
        return call


def load(artifact: Artifact, folder: Path) -> NumpyExecutable:
    """Load a built artifact."""
    return TunableExecutable(artifact)

"""Copies of `flash` that test the measurement: the same code by another name, or slower on purpose.

Twins must not be told apart, and a slowdown that was planted must be found: `experiments/twins.toml`.
"""

from pathlib import Path

from pydantic import Field

from harness.artifact.artifact import Artifact
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.variants.flash import Flash, FlashParameters

LOADER = "harness.variants.slowed_call:load"


class TwinParameters(FlashParameters):
    """As `flash`, and which copy it is."""

    number: int = Field(default=1, ge=1)
    """Names the copy; changes nothing."""


class Twin(Flash):
    """`flash` by another name."""

    name = "twin"
    is_suggested = False
    summary = (
        "a copy of flash, the same machine code: what is measured between them is the measurement's error"
    )
    parameters = TwinParameters


class SlowedParameters(FlashParameters):
    """As `flash`, and how much slower."""

    by: float = Field(default=0.05, ge=0, le=1)
    """Share of its time that each call is made longer by."""


class SlowedTwin(Flash):
    """`flash` whose calls are made longer by a known share."""

    name = "slowed-twin"
    is_suggested = False
    summary = "a copy of flash that waits after each call: a slowdown that the measurement must find"
    parameters = SlowedParameters

    def supports(self, problem: AttentionProblem, target: str) -> str | None:
        """Return None, or why not: calls are made longer on the CPU only."""
        if target.partition(":")[0] != "cpu":
            return "slowed-twin makes calls of the target cpu longer, and of no other"
        return super().supports(problem, target)

    def build(self, case: Case, key: str, folder: Path) -> Artifact:
        """Build what `flash` would, to be loaded by `LOADER`."""
        artifact = super().build(case, key, folder)
        return artifact.model_copy(update={"loader": LOADER})

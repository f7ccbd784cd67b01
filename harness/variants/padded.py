"""The variant `padded`."""

from pathlib import Path

from harness.artifact.artifact import Artifact
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.forms import PACKED
from harness.problem.padding import padded_problem, why_not_padded
from harness.variants.flash import Flash


class Padded(Flash):
    """`flash` on packed sequences that are padded to the longest one: what `varlen` is to be compared with.

    Keys beyond a sequence's length are skipped, since the kernel reads the lengths; queries beyond it are
    computed and thrown away.
    """

    name = "padded"
    is_suggested = False
    summary = "packed sequences padded to the longest one, then flash; needs cu_seqlens"
    needed = PACKED

    def refuses(self, problem: AttentionProblem) -> str | None:
        """Return None, or the first feature that is not built."""
        return why_not_padded(problem) or super().refuses(padded_problem(problem))

    def of_capacity(self, case: Case) -> Case:
        """Return the case for all of its capacity, itself where its lengths are why it is not supported."""
        return super().of_capacity(case) if why_not_padded(case.problem) is None else case

    def computed(self, case: Case) -> Case:
        """Return the case of the padded batch; of a case that is one, itself."""
        if not case.problem.is_packed:
            return case
        return case.model_copy(update={"problem": padded_problem(case.problem)})

    def build(self, case: Case, key: str, folder: Path) -> Artifact:
        """Build the batch's kernels, for packed sequences; a call holds the padded batch besides."""
        artifact, held = super().build(case, key, folder), self.computed(case).problem.bytes()
        metrics = artifact.metrics
        if metrics.workspace_bytes is not None:
            metrics = metrics.model_copy(update={"workspace_bytes": metrics.workspace_bytes + held})
        return artifact.model_copy(update={"is_padded": True, "metrics": metrics})

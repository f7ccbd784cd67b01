"""The variant `padded`."""

from pathlib import Path

import numpy as np

from harness.artifact.artifact import Artifact
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.forms import PACKED
from harness.problem.padding import padded_problem, why_not_padded
from harness.variants.flash import Flash
from harness.variants.tiling import Tiling


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

    def tiling(self, case: Case) -> Tiling:
        """Cut the padded batch."""
        return super().tiling(_of_batch(case))

    def source(self, case: Case) -> str:
        """Return the IR of the batch's kernels."""
        return super().source(_of_batch(case))

    def build(self, case: Case, key: str, folder: Path) -> Artifact:
        """Build the batch's kernels, for packed sequences; a call holds the padded batch besides."""
        batch = _of_batch(case)
        artifact = super().build(batch, key, folder)
        metrics, held = artifact.metrics, batch.problem.bytes()
        if metrics.workspace_bytes is not None:
            metrics = metrics.model_copy(update={"workspace_bytes": metrics.workspace_bytes + held})
        return artifact.model_copy(update={"case": case, "is_padded": True, "metrics": metrics})

    def lengths(self, case: Case) -> dict[str, np.ndarray]:
        """Return the lengths of keys that the kernels read."""
        return super().lengths(_of_batch(case))

    def resolved(self, case: Case) -> Case:
        """Return the case of the batch as its target gets it."""
        return super().resolved(_of_batch(case))


def _of_batch(case: Case) -> Case:
    """Return the case of the padded batch; of a case that is one, itself."""
    if not case.problem.is_packed:
        return case
    return case.model_copy(update={"problem": padded_problem(case.problem)})

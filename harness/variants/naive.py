"""The variant `naive`."""

from typing import TYPE_CHECKING

from harness.variants.generated import GeneratedVariant, TileParameters
from harness.variants.schedule import Step
from harness.variants.tiling import Tiling

if TYPE_CHECKING:
    from mlir import ir


class Naive(GeneratedVariant):
    """Greedy tile-and-fuse: each key tile recomputes the whole row of scores for its statistics."""

    name = "naive"
    summary = "recomputing tile-and-fuse in its correct form; work grows with the number of key tiles"

    def payload(self, tiling: Tiling) -> "ir.Module":
        """Return the whole problem's attention."""
        from harness.codegen.payloads.attention import multi_head_attention

        return multi_head_attention(tiling.problem, tiling.padded, tiling.original_problem)

    def schedule(self, tiling: Tiling, parameters: TileParameters) -> list[Step]:
        """Return the steps."""
        from harness.variants import attention_schedule as steps

        return [
            steps.ABSORBED_SCALE,
            Step("softmax-as-linalg", "maximum, exponential, sum, quotient", steps.decompose_softmaxes),
            steps.grid(tiling),
            steps.step_of(
                "key-loop",
                "a loop over key tiles, each with the statistics of whole rows",
                steps.tile_keys_recomputing,
                tiling,
            ),
            _rows(tiling),
            steps.TILED,
        ]


def _rows(tiling: Tiling) -> Step:
    """Return how whole rows of scores are made."""
    from harness.variants import attention_schedule as steps

    if tiling.materializes_score_rows:
        return steps.score_rows(tiling)
    return steps.step_of(
        "row-statistics",
        "maximum and total of rows in loops over key tiles, which compute the scores again",
        steps.tile_row_statistics,
        tiling,
    )

"""The variant `unfused`."""

from typing import TYPE_CHECKING

from harness.variants.generated import GeneratedVariant, TileParameters
from harness.variants.schedule import Step
from harness.variants.tiling import Tiling

if TYPE_CHECKING:
    from mlir import ir


class Unfused(GeneratedVariant):
    """The standard three kernels with the score matrix in memory between them.

    A causal mask hides scores but saves no work, as in any implementation from library calls."""

    name = "unfused"
    summary = "scores, softmax, values: three kernels, the score matrix materialised"

    def payload(self, tiling: Tiling) -> "ir.Module":
        """Return the whole problem's attention."""
        from harness.codegen.payloads.attention import multi_head_attention

        return multi_head_attention(
            tiling.problem, tiling.padded, tiling.original_problem, sinks_weigh_probabilities=True
        )

    def schedule(self, tiling: Tiling, parameters: TileParameters) -> list[Step]:
        """Return the steps."""
        from harness.variants import attention_schedule as steps
        from harness.variants import score_row_schedule as rows

        softmax_rows = []
        if not tiling.materializes_score_rows:
            summary = "maximum, total and probabilities of rows in loops over key tiles"
            softmax_rows = [steps.step_of("softmax-rows", summary, rows.tile_softmax_rows, tiling)]
        return [
            steps.ABSORBED_SCALE,
            steps.grid(tiling),
            steps.step_of(
                "kernels", "three kernels with the scores in memory between them", rows.split_kernels, tiling
            ),
            rows.score_rows(tiling),
            *softmax_rows,
            Step(
                "key-loop",
                "a loop over key tiles for the product with V",
                lambda module: steps.tile_keys(module, tiling, peels_rest=tiling.materializes_score_rows),
            ),
            steps.TILED,
        ]

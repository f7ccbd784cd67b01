"""The variant `naive`."""

from harness.variants.generated import GeneratedVariant, TileParameters
from harness.variants.schedule import Step
from harness.variants.tiling import Tiling


class Naive(GeneratedVariant):
    """Greedy tile-and-fuse, an exhibit: each key tile recomputes the whole row of scores.

    Producer fusion alone cannot carry a maximum and a sum from one key tile to the next, as `flash` does."""

    name = "naive"
    summary = "tile-and-fuse by producer fusion alone: each key tile recomputes its row's maximum and sum"

    def schedule(self, tiling: Tiling, parameters: TileParameters) -> list[Step]:
        """Return the steps."""
        from harness.variants import attention_schedule as steps
        from harness.variants import score_row_schedule as rows

        row_statistics = rows.score_rows(tiling)
        if not tiling.materializes_score_rows:
            row_statistics = steps.step_of(
                "row-statistics",
                "maximum and total of rows in loops over key tiles, which compute the scores again",
                rows.tile_row_statistics,
                tiling,
            )
        return [
            steps.ABSORBED_SCALE,
            Step("softmax-as-linalg", "maximum, exponential, sum, quotient", rows.decompose_softmaxes),
            steps.grid(tiling),
            steps.step_of(
                "key-loop",
                "a loop over key tiles, each with the statistics of whole rows",
                rows.tile_keys_recomputing,
                tiling,
            ),
            row_statistics,
            steps.TILED,
        ]

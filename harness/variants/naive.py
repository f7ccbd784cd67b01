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
        from harness.payloads.attention import multi_head_attention

        return multi_head_attention(tiling.problem, tiling.padded, tiling.given)

    def schedule(self, tiling: Tiling, parameters: TileParameters) -> list[Step]:
        """Return the steps."""
        from harness.variants import attention_schedule as steps

        return [
            Step("absorbed-scale", "the scale of scores moves into the exponent", steps.absorb_scales),
            Step("softmax-as-linalg", "maximum, exponential, sum, quotient", steps.decompose_softmaxes),
            Step("grid", "batch, head and query tiles", lambda module: steps.tile_grid(module, tiling)),
            Step(
                "key-loop",
                "a loop over key tiles, each with the statistics of whole rows",
                lambda module: steps.tile_keys_recomputing(module, tiling),
            ),
            _rows(tiling),
            Step("tiled", "linalg only", steps.to_linalg),
        ]


def _rows(tiling: Tiling) -> Step:
    """Return how whole rows of scores are made."""
    from harness.variants import attention_schedule as steps

    if tiling.materializes_score_rows:
        return Step(
            "score-rows", "rows of scores in tiles", lambda module: steps.tile_score_rows(module, tiling)
        )
    return Step(
        "row-statistics",
        "maximum and total of rows in loops over key tiles, which compute the scores again",
        lambda module: steps.tile_row_statistics(module, tiling),
    )

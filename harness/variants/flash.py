"""The variant `flash`."""

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from harness.variants.generated import GeneratedVariant, TileParameters
from harness.variants.schedule import Step
from harness.variants.tiling import Tiling

if TYPE_CHECKING:
    from mlir import ir


class FlashParameters(TileParameters):
    """Tile sizes, and where the softmax divides."""

    division: Literal["final", "every-step"] = Field(default="final")
    """`final`: the output is divided once, after the last key tile (FlashAttention-2).  `every-step`: after
    every key tile it is exact attention over the keys so far (slides *Linalg Fusion Enhancement*)."""


class Flash(GeneratedVariant):
    """FlashAttention-style: the loop over key tiles carries the running maximum, sum and output."""

    name = "flash"
    summary = "one pass over the keys, online softmax, one division at the end (FlashAttention-2)"
    parameters = FlashParameters

    def payload(self, tiling: Tiling) -> "ir.Module":
        """Return the whole problem's attention."""
        from harness.payloads.attention import multi_head_attention

        return multi_head_attention(tiling.problem, tiling.query_rows, tiling.given)

    def schedule(self, tiling: Tiling, parameters: TileParameters) -> list[Step]:
        """Tile queries over the grid, then keys with a running softmax."""
        from harness.variants import attention_schedule as steps

        divides_once = not isinstance(parameters, FlashParameters) or parameters.division == "final"
        division = Step("final-division", "divide once, after the product with V", steps.divide_once)
        return [
            Step("absorbed-scale", "the scale of scores moves into the exponent", steps.absorb_scales),
            *([division] if divides_once else []),
            Step("grid", "batch, head and query tiles", lambda module: steps.tile_grid(module, tiling)),
            Step(
                "key-loop",
                "a loop over key tiles that carries maximum, total and output",
                lambda module: steps.tile_keys(module, tiling),
            ),
            Step("visible-tiles", "only key tiles that are seen", steps.visit_visible_tiles),
            Step("tiled", "linalg only", steps.to_linalg),
        ]

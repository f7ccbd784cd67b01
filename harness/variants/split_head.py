"""The variant `split-head`."""

from types import MappingProxyType
from typing import TYPE_CHECKING

from harness.problem.attention_problem import AttentionProblem
from harness.variants.generated import GeneratedVariant, TileParameters
from harness.variants.schedule import Step
from harness.variants.tiling import Tiling

if TYPE_CHECKING:
    from mlir import ir


class SplitHead(GeneratedVariant):
    """Megatron-style: one loop over heads, with the projections of that head fused into it.

    Inside a head it is `flash`.  K and V of the head are projected once, each tile of Q when it is needed.
    With grouped queries the heads of a group project the same K and V again.
    """

    name = "split-head"
    summary = "projections fused under the loop over heads (Megatron); needs model_width"
    needed = MappingProxyType({"model_width": 128})

    def refuses(self, problem: AttentionProblem) -> str | None:
        """Return None, or the first feature that is not built."""
        from harness.payloads.attention import unsupported_by_payload

        if problem.model_width is None:
            return "split-head is about the projections: the problem needs a model_width"
        return unsupported_by_payload(problem.model_copy(update={"model_width": None}))

    def payload(self, tiling: Tiling) -> "ir.Module":
        """Return projections and attention."""
        from harness.payloads.attention import multi_head_attention_with_prologue_projections

        return multi_head_attention_with_prologue_projections(tiling.problem, tiling.padded)

    def schedule(self, tiling: Tiling, parameters: TileParameters) -> list[Step]:
        """Loop over heads, then over queries, then over keys."""
        from harness.variants import attention_schedule as steps

        return [
            Step("absorbed-scale", "the scale of scores moves into the exponent", steps.absorb_scales),
            Step("final-division", "divide once, after the product with V", steps.divide_once),
            Step("heads", "batch and head, projections included", steps.tile_heads),
            Step(
                "query-loop",
                "a loop over query tiles, each projected there",
                lambda module: steps.tile_queries(module, tiling),
            ),
            Step(
                "key-loop",
                "a loop over key tiles that carries maximum, total and output",
                lambda module: steps.tile_keys(module, tiling, keep_keys=True),
            ),
            Step("visible-tiles", "only key tiles that are seen", steps.visit_visible_tiles),
            Step("tiled", "linalg only", steps.to_linalg),
        ]

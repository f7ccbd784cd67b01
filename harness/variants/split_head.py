"""The variant `split-head`."""

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.variants.generated import GeneratedVariant, TileParameters
from harness.variants.schedule import Step
from harness.variants.tiling import Tiling

if TYPE_CHECKING:
    from mlir import ir


class SplitHeadParameters(TileParameters):
    """Tile sizes, and where heads are projected."""

    projections: Literal["fused", "before"] = "fused"
    """`fused`: under the loop over heads, K and V of a head once, each tile of Q when it is needed.  Kernels
    that hold tiles only, those for GPUs, find K and V in memory, where kernels of their own leave them.
    `before`: Q likewise."""


class SplitHead(GeneratedVariant):
    """Megatron-style: heads are split, each with projections of its own.

    Inside a head it is `flash`.  Where K and V of a head are projected under the loop over heads, the query
    heads that share them project them again.
    """

    name = "split-head"
    summary = "projections of each head, fused under the loop over heads or before it (Megatron)"
    parameters = SplitHeadParameters
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
        from harness.payloads.projected_heads import projected_heads

        if tiling.projects_before:
            width = tiling.model_width or 0
            return projected_heads(tiling.problem, tiling.padded, width, tiling.projects_before)
        return multi_head_attention_with_prologue_projections(tiling.problem, tiling.padded)

    def schedule(self, tiling: Tiling, parameters: TileParameters) -> list[Step]:
        """Loop over heads, then over queries, then over keys."""
        from harness.variants import attention_schedule as steps

        if tiling.projects_before:
            return [
                Step("absorbed-scale", "the scale of scores moves into the exponent", steps.absorb_scales),
                Step("final-division", "divide once, after the product with V", steps.divide_once),
                Step(
                    "grid",
                    "batch, head and tiles of tokens, of projections and of attention",
                    lambda module: steps.tile_grid(module, tiling),
                ),
                Step(
                    "width-loop",
                    "a loop over columns of the tokens in each projection",
                    lambda module: steps.tile_projections(module, tiling),
                ),
                Step(
                    "key-loop",
                    "a loop over key tiles that carries maximum, total and output",
                    lambda module: steps.tile_keys(module, tiling),
                ),
                Step("visible-tiles", "only key tiles that are seen", steps.visit_visible_tiles),
                Step("tiled", "linalg only", steps.to_linalg),
            ]
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

    def tiling(self, case: Case) -> Tiling:
        """Cut the case's problem, with heads projected where its parameters and its target say."""
        tiling = super().tiling(case)
        if case.params.get("projections") == "before":
            return replace(tiling, projects_before=("query", "key", "value"))
        return tiling if tiling.materializes_score_rows else replace(tiling, projects_before=("key", "value"))

"""The variant `split-head`."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from harness.artifact.artifact import Artifact
from harness.experiment.searched import Searched
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case, ParameterValue
from harness.problem.ranks import problem_of_rank
from harness.system.errors import UnsupportedError
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
    intermediates: Annotated[Literal["shared", "scratch"] | None, Searched()] = None
    """Where kernels that hold tiles only find K and V of a head, if these are not projected before: `shared`
    by a workgroup, which has a head then, in its own memory; `scratch` by kernels of their own.  By default
    shared where that has room.  Refused where it would change nothing."""
    ranks: int | None = Field(default=None, ge=1, le=4096)
    """Ranks that heads are shared out among, by default one, as in tensor parallelism: each executes the same
    code on heads of its own, and what ranks give is joined, or added up where the output is projected.  All
    run here, one after the other; a time is the sum of theirs, without what joins them."""


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
        from harness.codegen.payloads.attention import unsupported_by_payload
        from harness.codegen.payloads.projected_heads import heads_only

        if problem.model_width is None:
            return "split-head is about the projections: the problem needs a model_width"
        return unsupported_by_payload(heads_only(problem))

    def payload(self, tiling: Tiling) -> "ir.Module":
        """Return projections and attention."""
        from harness.codegen.payloads.projected_heads import heads_projected_inside, projected_heads

        if tiling.projected is None:
            raise ValueError("the problem has no model_width, and so no projections")
        if tiling.projects_before or tiling.keeps_heads:
            return projected_heads(
                tiling.problem,
                tiling.padded,
                tiling.projected,
                tiling.projects_before,
                keeps_heads=tiling.keeps_heads,
            )
        return heads_projected_inside(tiling.problem, tiling.padded, tiling.projected)

    def schedule(self, tiling: Tiling, parameters: TileParameters) -> list[Step]:
        """Loop over heads, then over queries, then over keys."""
        from harness.variants import attention_schedule as steps

        of_width = steps.step_of(
            "width-loop",
            "a loop over columns of what is projected in each projection",
            steps.tile_projections,
            tiling,
        )
        grid = steps.step_of(
            "grid",
            "batch, head and tiles of tokens, of projections and of attention",
            steps.tile_grid,
            tiling,
        )
        heads = steps.step_of("heads", "batch and head, projections included", steps.tile_heads, tiling)
        queries = steps.step_of(
            "query-loop", "a loop over query tiles, each projected there", steps.tile_queries, tiling
        )
        before = bool(tiling.projects_before)

        if tiling.keeps_heads:
            keys = steps.key_loop(tiling, steps.tile_keys_of_kept_heads)
        else:
            keys = steps.key_loop(tiling, partial(steps.tile_keys, keep_keys=not before))
        return [
            steps.ABSORBED_SCALE,
            steps.FINAL_DIVISION,
            *([grid, of_width] if before else [heads, queries]),
            keys,
            *([of_width] if tiling.keeps_heads else []),
            steps.VISIBLE_TILES,
            steps.TILED,
        ]

    def computed(self, case: Case) -> Case:
        """Return the case that one rank's code is for."""
        params = {name: value for name, value in case.params.items() if name != "ranks"}
        problem = problem_of_rank(case.problem, _ranks(case))
        return case.model_copy(update={"problem": problem, "params": params})

    def cut(self, case: Case) -> Tiling:
        """Cut what a rank computes, with heads projected where parameters and target say."""
        tiling = super().cut(case)
        wanted = case.params.get("intermediates")
        is_before = case.params.get("projections") == "before"
        if wanted is not None and (is_before or tiling.materializes_score_rows):
            why = (
                "projections 'before' leaves K and V in memory"
                if is_before
                else f"{case.target} projects K and V of a head under the loop over heads"
            )
            raise UnsupportedError(f"intermediates {wanted!r} would change nothing: {why}")
        if is_before:
            return replace(tiling, projects_before=("query", "key", "value"))
        if tiling.materializes_score_rows:
            return tiling
        reason = tiling.why_heads_are_not_kept
        if reason is None and wanted != "scratch":
            return replace(tiling, keeps_heads=True)
        if wanted == "shared":
            raise UnsupportedError(f"K and V of a head are not kept by a workgroup: {reason}")
        return replace(tiling, projects_before=("key", "value"))

    def build(self, case: Case, key: str, folder: Path) -> Artifact:
        """Build a rank's kernels, for all ranks."""
        artifact, ranks = super().build(case, key, folder), _ranks(case)
        metrics = artifact.metrics
        summed: dict[str, Any] = {
            name: ranks * getattr(metrics, name)
            for name in ("flops_executed", "workspace_bytes")
            if getattr(metrics, name) is not None
        }
        update = {"ranks": ranks, "metrics": metrics.model_copy(update=summed)}
        return artifact.model_copy(update=update)

    def chosen(self, case: Case) -> dict[str, ParameterValue]:
        """Return what the target chose for a rank, and where it finds K and V of a head."""
        chosen, tiling = super().chosen(case), self.tiling(case)
        is_open = case.params.get("intermediates") is None
        if not is_open or tiling.materializes_score_rows or "query" in tiling.projects_before:
            return chosen
        return {**chosen, "intermediates": "shared" if tiling.keeps_heads else "scratch"}


def _ranks(case: Case) -> int:
    return int(case.params.get("ranks", 1))

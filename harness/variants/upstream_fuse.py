"""The variant `upstream-fuse`."""

from dataclasses import replace

from harness.plugins import name_of
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.targets.base import TileSizes
from harness.variants.generated import GeneratedVariant, TileParameters
from harness.variants.schedule import Step
from harness.variants.tiling import Tiling

ORDER = (2, 1, 0)
"""Keys outside, queries inside, as in the slides *Linalg Fusion Enhancement*."""


class UpstreamFuse(GeneratedVariant):
    """MLIR's own tile-and-fuse on plain linalg, in one call of `transform.structured.fuse` for each head."""

    name = "upstream-fuse"
    summary = "MLIR's transform.structured.fuse on plain linalg: recomputes score rows as naive does"

    def supports(self, problem: AttentionProblem, target: str) -> str | None:
        """Return None, or why it is not for the target, or what its payload does not have."""
        if name_of(target) != "cpu":
            return "upstream's tile-and-fuse is compared on cpu; its kernels compute whole heads"
        return super().supports(problem, target)

    def tile_sizes(self, case: Case, preferred: TileSizes) -> TileSizes:
        """Return the target's tiles, but without padding, which upstream turns into branches."""
        return replace(preferred, query_multiple=1)

    def schedule(self, tiling: Tiling, parameters: TileParameters) -> list[Step]:
        """Return the steps."""
        from harness.variants import attention_schedule as steps
        from harness.variants import upstream_schedule as upstream

        return [
            steps.ABSORBED_SCALE,
            steps.step_of("heads", "a grid of batch and head", steps.tile_heads, tiling),
            Step("plain-linalg", "maximum, exponential, sum, quotient as linalg", upstream.plain_linalg),
            *upstream.fusion(
                lambda module: upstream.contractions(module)[-1],
                [tiling.query, 0, tiling.key],
                ORDER,
            ),
            steps.TILED,
        ]

"""The variant `unfused`."""

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case, ParameterValue
from harness.system.errors import UnsupportedError
from harness.variants.generated import GeneratedVariant, TileParameters
from harness.variants.schedule import Step
from harness.variants.tiling import Tiling

if TYPE_CHECKING:
    from mlir import ir

ScoreType = Literal["input", "f32"]


class UnfusedParameters(TileParameters):
    """Tile sizes and the order of tiles, and what scores are between kernels."""

    scores: ScoreType | None = Field(default=None)
    """Type of scores in memory between kernels that go over them tile by tile: `input`, that of Q, K and V,
    as library code has it; `f32`, chosen where a bias or a scale above 1 can make them too large for f16, or
    their log-sum-exp is an output.  Kernels that hold whole rows have f32, where probabilities then lie."""


class Unfused(GeneratedVariant):
    """The standard three kernels with the score matrix in memory between them.

    A causal mask hides scores but saves no work, as in any implementation from library calls."""

    name = "unfused"
    summary = "scores, softmax, values: three kernels, the score matrix materialised"
    parameters = UnfusedParameters

    def payload(self, tiling: Tiling) -> "ir.Module":
        """Return the whole problem's attention."""
        from harness.codegen.payloads.attention import multi_head_attention

        return multi_head_attention(
            tiling.problem,
            tiling.padded,
            tiling.original_problem,
            sinks_weigh_probabilities=tiling.materializes_score_rows,
        )

    def schedule(self, tiling: Tiling, parameters: TileParameters) -> list[Step]:
        """Return the steps."""
        if tiling.materializes_score_rows:
            return _of_whole_rows(tiling)
        return _of_tiles(tiling, _score_type(tiling.original_problem, parameters))

    def cut(self, case: Case) -> Tiling:
        """Cut a problem; scores of whole rows have one type."""
        tiling = super().cut(case)
        if tiling.materializes_score_rows and case.params.get("scores") == "input":
            raise UnsupportedError(f"scores=input: kernels for {case.target} keep whole rows, in f32")
        return tiling

    def chosen(self, case: Case) -> dict[str, ParameterValue]:
        """Return what the target chose, and the type of scores where there is a choice."""
        chosen, parameters = super().chosen(case), self._parameters(case)
        if self.tiling(case).materializes_score_rows or _parameter(parameters) is not None:
            return chosen
        return {**chosen, "scores": _score_type(self.computed(case).problem, parameters)}


def _parameter(parameters: TileParameters) -> ScoreType | None:
    return parameters.scores if isinstance(parameters, UnfusedParameters) else None


def _score_type(problem: AttentionProblem, parameters: TileParameters) -> ScoreType:
    """Return the type of scores in memory: f32 where the other has too little range or precision."""
    is_wide = problem.bias or problem.log_sum_exp or abs(problem.scale) > 1
    return _parameter(parameters) or ("f32" if is_wide else "input")


def _of_whole_rows(tiling: Tiling) -> list[Step]:
    from harness.variants import attention_schedule as steps
    from harness.variants import score_row_schedule as rows

    return [
        steps.ABSORBED_SCALE,
        steps.grid(tiling),
        Step("kernels", "three kernels with the scores in memory between them", rows.split_kernels_of_rows),
        rows.score_rows(tiling),
        Step(
            "key-loop",
            "a loop over key tiles for the product with V",
            lambda module: steps.tile_keys(module, tiling, peels_rest=True),
        ),
        steps.TILED,
    ]


def _of_tiles(tiling: Tiling, scores: ScoreType) -> list[Step]:
    """Return the steps to kernels that write and read each score and each probability once.

    Scores that f16 holds are scaled before they are stored, which leaves it the most range.
    """
    from harness.variants import attention_schedule as steps
    from harness.variants import score_row_schedule as rows

    is_narrow = scores == "input" and tiling.problem.dtype != "f32"
    dtype = tiling.problem.dtype if is_narrow else "f32"
    return [
        *([] if is_narrow else [steps.ABSORBED_SCALE]),
        steps.FINAL_DIVISION,
        steps.grid(tiling),
        Step(
            "kernels",
            "three kernels: scores and their maxima, probabilities and their totals, products with V",
            lambda module: rows.split_kernels_of_tiles(module, tiling, dtype),
        ),
        steps.step_of("softmax-rows", "rows in one loop over key tiles each", rows.tile_reduced_rows, tiling),
        steps.step_of("key-loop", "a loop over key tiles for the product with V", steps.tile_keys, tiling),
        steps.TILED,
    ]

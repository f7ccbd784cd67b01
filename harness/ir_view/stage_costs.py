"""What the kernels of a stage execute, see docs/costs.md."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.codegen.costs.costs import Costs, NotCountable, total
from harness.ir_view.stage_output import Language, StageOutput
from harness.problem.inputs import lengths_of
from harness.problem.pages import paging_of

if TYPE_CHECKING:
    from harness.artifact.artifact import Artifact


def stage_costs(stage: StageOutput, artifact: "Artifact") -> Costs:
    """Count what one call of an artifact executes at this stage, see `count_stage`."""
    problem, page_size = artifact.case.problem, artifact.page_size
    paging = None if page_size is None else paging_of(problem, page_size)
    return count_stage(stage, lengths_of(problem, paging), grid_points(artifact.launch))


def count_stage(
    stage: StageOutput,
    argument_values: Mapping[str, np.ndarray] | None = None,
    points: Mapping[str, int] | None = None,
) -> Costs:
    """Count what one call executes at this stage, all kernels together.

    Operations of the `attn` dialect count as what they are decomposed to.  Raises `NotCountable`.
    """
    from mlir import ir

    from harness.codegen.costs.counter import count
    from harness.codegen.dialect.context import mlir_context
    from harness.codegen.dialect.decomposition import decompose_all

    if stage.language is not Language.MLIR or stage.text is None:
        raise NotCountable("only MLIR is counted")
    with mlir_context():
        try:
            module = ir.Module.parse(stage.text)
        except ir.MLIRError as error:
            raise NotCountable("it has operations of dialects that are not loaded") from error
        decompose_all(module)
        return total(count(module, known=argument_values, points=points))


def grid_points(launch: Mapping[str, Any]) -> dict[str, int]:
    """Return the grid points of each kernel, where an artifact tells them."""
    kernels = launch.get("kernels", ())
    return {kernel["name"]: kernel["points"] for kernel in kernels if "points" in kernel}

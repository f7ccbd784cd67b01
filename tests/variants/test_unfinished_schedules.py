"""A schedule that leaves kernels unfinished is a failed build that names its last step."""

from pathlib import Path

import pytest

from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.system.errors import BuildError, PluginError
from harness.targets.base import Stage
from harness.variants.flash import Flash
from harness.variants.schedule import Step
from harness.variants.tiling import Tiling


class Unfinished(Flash):
    """Its last step is forgotten."""

    def schedule(self, tiling: Tiling, parameters: object) -> list[Step]:
        return super().schedule(tiling, parameters)[:-1]


def test_a_schedule_without_its_last_step_is_a_failed_build(tmp_path: Path) -> None:
    problem = AttentionProblem(heads=1, seq_q=32, head_dim=16)
    case = Case(problem=problem, variant="flash", target="cpu")
    stages = [stage for stage in Unfinished().stages_of(case) if isinstance(stage, Stage)]
    with pytest.raises(BuildError) as caught:
        Unfinished().build(case, "key", tmp_path)
    words = str(caught.value)
    assert words.startswith('after the last step, "')
    assert any(f'"{stage.name}"' in words for stage in stages)
    assert "attn." in words
    assert words.endswith("expected kernels of upstream dialects, in loops")


class WithoutGrid(Flash):
    """It tiles nothing."""

    def schedule(self, tiling: Tiling, parameters: object) -> list[Step]:
        steps = super().schedule(tiling, parameters)
        return [step for step in steps if step.name not in ("grid", "key-loop", "visible-tiles")]


def test_a_schedule_that_makes_no_grid_is_the_variants_mistake(tmp_path: Path) -> None:
    problem = AttentionProblem(heads=1, seq_q=32, head_dim=16)
    case = Case(problem=problem, variant="without-grid", target="cpu")
    with pytest.raises(PluginError, match=r"variant 'without-grid': schedule: found no grid .*tiled"):
        WithoutGrid().build(case, "key", tmp_path)

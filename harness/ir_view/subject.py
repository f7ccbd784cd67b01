"""What `harness ir` shows the stages of: a build, or a named schedule."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.costs.costs import Costs
from harness.errors import InputError
from harness.ir_view.stage_costs import count_stage, stage_costs
from harness.ir_view.stage_output import Language, StageOutput, stage_outputs

if TYPE_CHECKING:
    from harness.api import BuiltArtifact


PREFIX = "schedule:"


@dataclass(frozen=True)
class Subject:
    """Stages in order, and how to count what one of them executes."""

    title: str
    stages: list[StageOutput]
    costs: Callable[[StageOutput], Costs]
    """Raises `NotCountable`."""


def build_subject(built: "BuiltArtifact") -> Subject:
    """Return the stages of a build."""
    return Subject(
        title=built.case.describe(),
        stages=stage_outputs(built),
        costs=lambda stage: stage_costs(stage, built.artifact),
    )


def schedule_subject(name: str, settings: Sequence[str]) -> Subject:
    """Return the stages of a named schedule of a small problem, whose sizes are settings `KEY=VALUE`.

    Raises `InputError` for a size that the schedule does not have or that is no positive integer.
    """
    from harness.schedules.named import stage_texts
    from harness.schedules.registry import SCHEDULES

    name = name.removeprefix(PREFIX)
    if name not in SCHEDULES:
        raise InputError(f"unknown schedule {name!r}; expected one of {', '.join(SCHEDULES)}")
    schedule = SCHEDULES[name]
    sizes = dict(_size(setting) for setting in settings)
    stages = []
    started = time.perf_counter()
    for stage, text in stage_texts(schedule, **sizes):
        now = time.perf_counter()
        stages.append(StageOutput(stage, Language.MLIR, text, now - started))
        started = now
    shown = " ".join(f"{key}={value}" for key, value in {**schedule.sizes, **sizes}.items())
    wrong = f"\nwrong, to be looked at only: {schedule.why_wrong}" if schedule.why_wrong else ""
    return Subject(
        title=f"{name}: {schedule.summary}\n{schedule.source}; {shown}{wrong}",
        stages=stages,
        costs=count_stage,
    )


def is_schedule(name: str) -> bool:
    """Whether a name is that of a named schedule; `schedule:NAME` is, even if a variant has the name."""
    from harness import plugins

    if name.startswith(PREFIX):
        return True
    if name in plugins.names("variant"):
        return False
    from harness.schedules.registry import SCHEDULES

    return name in SCHEDULES


def _size(setting: str) -> tuple[str, int]:
    key, equals, value = setting.partition("=")
    if not equals or not value.isdecimal() or int(value) == 0:
        raise InputError(f"--set {setting}: expected SIZE=NUMBER, the number at least 1")
    return key, int(value)

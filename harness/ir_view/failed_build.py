"""What `harness ir` shows of a build or a schedule that failed: the stages that it came through."""

import sys
from collections.abc import Sequence

from harness import plugins
from harness.ir_view.show import show, unknown_stage
from harness.ir_view.stage_costs import count_stage
from harness.ir_view.stage_output import Language, StageOutput
from harness.ir_view.subject import Subject, named_schedule
from harness.problem.case import Case
from harness.problem.inputs import lengths_of
from harness.system.errors import HarnessError, UnsupportedError, stages_of
from harness.system.validation import suggestion
from harness.variants.schedule import PAYLOAD


def show_reached(case: Case, error: HarnessError, *, stage: str | None, diff: bool, counts: bool) -> None:
    """Print the stages that a build of a case reached before it failed, or one of them, see `show`.

    Raises the error with the stage's name where that was not reached, and `InputError` as `show` does; so it
    does for a stage that builds of the case do not have, as far as the variant says which they have.
    """
    end = "refused" if isinstance(error, UnsupportedError) else "the build failed"
    subject = Subject(
        title=f"{case.describe()} · {end} after these stages",
        stages=_reached(error),
        costs=lambda output: count_stage(output, lengths_of(case.problem)),
    )
    _show(subject, _stage_names(case), error, stage, diff=diff, counts=counts)


def show_reached_of_schedule(
    name: str, error: HarnessError, *, stage: str | None, diff: bool, counts: bool
) -> None:
    """Print the stages of a named schedule before the step that failed, as `show_reached` does."""
    schedule = named_schedule(name)
    subject = Subject(
        title=f"{schedule.name}: {schedule.summary} · a step failed after these stages",
        stages=_reached(error),
        costs=count_stage,
    )
    stage_names = [PAYLOAD.name, *(step.name for step in schedule.steps)]
    _show(subject, stage_names, error, stage, diff=diff, counts=counts)


def _show(
    subject: Subject,
    possible_stages: Sequence[str],
    error: HarnessError,
    stage: str | None,
    *,
    diff: bool,
    counts: bool,
) -> None:
    """Print stages that were reached, or say why one was not; without `possible_stages`, any may be one."""
    names = [output.name for output in subject.stages]
    if stage is not None and stage not in names:
        if possible_stages and stage not in possible_stages:
            raise unknown_stage(stage, possible_stages)
        reached = f"was not reached{suggestion(stage, names)}, the last one was {names[-1]}"
        raise type(error)(f"--stage {stage} {reached}: {error}") from error
    show(subject, stage=stage, diff=diff, counts=counts)
    sys.stdout.flush()


def _reached(error: HarnessError) -> list[StageOutput]:
    return [
        StageOutput(
            reached.name, Language.of(f"{reached.name}.{reached.suffix}"), reached.text, reached.seconds
        )
        for reached in stages_of(error)
    ]


def _stage_names(case: Case) -> list[str]:
    """Return the names of the stages that builds of a case have, none where nobody says."""
    try:
        with plugins.asked("variant", case.variant, "its stages (stages_of)"):
            stages = plugins.variant(case.variant).stages_of(case)
            return list(dict.fromkeys(stage if isinstance(stage, str) else stage.name for stage in stages))
    except HarnessError:  # the build has failed already
        return []

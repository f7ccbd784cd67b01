"""What `harness ir` shows of a build that failed: the stages that it came through."""

import sys

from harness.errors import HarnessError, stages_of
from harness.ir_view.show import show
from harness.ir_view.stage_costs import count_stage
from harness.ir_view.stage_output import Language, StageOutput
from harness.ir_view.subject import Subject
from harness.problem.case import Case
from harness.problem.inputs import lengths_of
from harness.validation import suggestion


def show_reached(case: Case, error: HarnessError, *, stage: str | None, diff: bool, counts: bool) -> None:
    """Print the stages that a build of a case reached before it failed, or one of them, see `show`.

    Raises the error with the stage's name where that was not reached, and `InputError` as `show` does.
    """
    subject = reached_subject(case, error)
    names = [output.name for output in subject.stages]
    if stage is not None and stage not in names:
        reached = f"was not reached{suggestion(stage, names)}, the last one was {names[-1]}"
        raise type(error)(f"--stage {stage} {reached}: {error}") from error
    show(subject, stage=stage, diff=diff, counts=counts)
    sys.stdout.flush()


def reached_subject(case: Case, error: HarnessError) -> Subject:
    """Return the stages that a build of a case reached before it failed."""
    return Subject(
        title=f"{case.describe()} · the build failed after these stages",
        stages=[
            StageOutput(
                reached.name, Language.of(f"{reached.name}.{reached.suffix}"), reached.text, reached.seconds
            )
            for reached in stages_of(error)
        ],
        costs=lambda output: count_stage(output, lengths_of(case.problem)),
    )

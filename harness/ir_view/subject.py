"""What `harness ir` shows the stages of: a build, or a named schedule."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.artifact.artifact import StaticMetrics
from harness.artifact.reached_stages import reached_stages, stages_left_in
from harness.bench.workers.process import scratch_folder
from harness.codegen.costs.costs import Costs
from harness.ir_view.request import sizes_of
from harness.ir_view.stage_costs import count_stage, stage_costs
from harness.ir_view.stage_output import Language, StageOutput, stage_outputs
from harness.system.errors import (
    BuildError,
    HarnessError,
    InputError,
    UnsupportedError,
    one_line,
    stages_of,
)
from harness.system.validation import suggestion, unknown_name

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
    metrics: str = ""
    """What is known of the machine code without running it, on one line."""


def build_subject(built: "BuiltArtifact") -> Subject:
    """Return the stages of a build."""
    case = built.case
    chosen = " ".join(f"{key}={value}" for key, value in built.artifact.chosen.items())
    title = case.describe()
    if chosen:
        title += f" · chosen: {chosen}"
    return Subject(
        title=title,
        stages=stage_outputs(built),
        costs=lambda stage: stage_costs(stage, built.artifact),
        metrics=describe_metrics(built.artifact.metrics),
    )


def describe_metrics(metrics: StaticMetrics) -> str:
    """Return what is known of `registers 128 · spills 0 · shared memory 48 KiB · occupancy 50 % · …`."""
    shared = None if metrics.shared_bytes is None else f"{metrics.shared_bytes / 1024:.3g} KiB"
    model = metrics.model
    occupancy = None if metrics.occupancy is None else f"{metrics.occupancy:.0%}"
    values = {
        "registers": metrics.registers,
        "for accumulators": metrics.accumulator_registers,
        "scalar registers": metrics.scalar_registers,
        "spills": metrics.spills,
        "scratch": None if metrics.scratch_bytes is None else f"{metrics.scratch_bytes} bytes",
        "shared memory": shared,
        "occupancy": occupancy,
        "bank conflicts": metrics.bank_conflicts,
        "narrow loads": metrics.narrow_loads or None,
        "modelled": None
        if model is None
        else f"{model.fraction_of_peak:.0%} of peak, bound by {model.bound}",
    }
    return " · ".join(f"{name} {value}" for name, value in values.items() if value is not None)


def failed_subject(title: str, error: HarnessError) -> Subject:
    """Return the stages that a build or a schedule came through before it failed, if any."""
    stages = [
        StageOutput(stage.name, Language.of(file), stage.text, stage.seconds, file)
        for stage in stages_of(error)
        for file in [f"{stage.name}.{stage.suffix}"]
    ]
    return Subject(f"{title} · it failed after these stages", stages, count_stage)


def schedule_subject(name: str, settings: Sequence[str], other_options: Sequence[str] = ()) -> Subject:
    """Return the stages of a named schedule of a small problem, whose sizes are settings `SIZE=NUMBER`."""
    from harness.codegen.rewrites.errors import RewriteRefusedError
    from harness.ir_view.named_schedules.registry import SCHEDULES

    name = name.removeprefix(PREFIX)
    if name not in SCHEDULES:
        raise InputError(unknown_name("schedule", name, SCHEDULES))
    schedule = SCHEDULES[name]
    sizes = sizes_of(settings, other_options, name, list(schedule.sizes))
    with scratch_folder() as folder, reached_stages.left_in(folder):
        try:
            record = schedule.record_stages(**sizes)
        except Exception as error:
            kind = UnsupportedError if isinstance(error, RewriteRefusedError | InputError) else BuildError
            failure = kind(f"schedule {name}: {one_line(error)}")
            failure.stages = stages_left_in(folder)
            raise failure from error
    shown = " ".join(f"{key}={value}" for key, value in {**schedule.sizes, **sizes}.items())
    wrong = f"\nwrong, to be looked at only: {schedule.why_wrong}" if schedule.why_wrong else ""
    return Subject(
        title=f"{name}: {schedule.summary}\n{schedule.source}; {shown}{wrong}",
        stages=[
            StageOutput(stage, Language.MLIR, text, record.seconds[stage])
            for stage, text in record.texts.items()
        ],
        costs=count_stage,
    )


def is_schedule(name: str) -> bool:
    """Whether a name is that of a named schedule; `schedule:NAME` is, even if a variant has the name."""
    from harness import plugins

    if name.startswith(PREFIX):
        return True
    if name in plugins.names("variant"):
        return False
    from harness.ir_view.named_schedules.registry import SCHEDULES

    if name not in SCHEDULES:
        offered = plugins.suggested("variant")
        hint = suggestion(name, [*offered, *SCHEDULES])
        raise InputError(
            f"unknown variant or schedule {name!r}{hint}; variants: {', '.join(offered)}; "
            f"schedules: {', '.join(SCHEDULES)}"
        )
    return True

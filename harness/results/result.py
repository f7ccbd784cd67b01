"""The record of one case: a row of the results table."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, create_model, field_validator, model_validator

from harness.artifact.device_facts import TimedBy
from harness.experiment.searched import ParamsSource
from harness.problem.attention_problem import FLOP_CONVENTION
from harness.problem.case import ParameterValue
from harness.problem.fields import ProblemField, problem_fields
from harness.system.numbers import Count, Positive
from harness.system.status import Status

KNOWN_WHEN_FINITE = (
    "time_low_s",
    "time_high_s",
    "speedup_low",
    "speedup_high",
    "noise",
    "peak_noise",
    "fraction_of_peak_low",
    "fraction_of_peak_high",
)
"""Fields that too few samples leave unknown (`harness.results.statistics`)."""

LONGEST_NAME = 200
"""Characters of the name of a variant or target: tables have a column of that width."""

Name = Annotated[str, Field(max_length=LONGEST_NAME)]

OF_A_TIME = "follows from a time"
Value = TypeVar("Value")
Timed = Annotated[Value | None, OF_A_TIME]
"""What only a row that passed may have."""


def problem_columns() -> dict[str, Any]:
    """Return type and default of the column of each field of a problem."""
    return {field.column_name: _column(field) for field in problem_fields().values()}


def _column(field: ProblemField) -> tuple[Any, Any]:
    values: Any = {int: Count, tuple: str}.get(field.kind, field.kind)
    is_left_out = field.name.endswith("_axes")  # where they are the usual ones
    if field.is_optional or is_left_out:
        return values | None, None
    return values, ... if field.default is None else field.default


class _Row(BaseModel):
    """What every row has before its problem."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")

    experiment: str
    run: str
    case: str
    key: str | None = None
    """Content key of what was built; a resumed run repeats a case whose key has changed."""
    variant: Name
    target: Name
    executor: str = "none"
    device: str | None = None
    status: Status
    phase: str | None = None
    """Where it ended: plan, build, load, run, check or time; None when all went well."""
    reason: str | None = None
    rerun: str | None = None
    """The command that reruns this case alone, on rows that are failures."""
    transient: bool = False
    """Whether its worker, or a program that it ran, was killed from outside, or memory was too short to try:
    a resumed run tries again."""
    elapsed_s: float | None = None
    """What the case took in all: planning, building or finding what was built, checking and timing it."""


_RowOfProblem: Any = create_model("_RowOfProblem", __base__=_Row, **problem_columns())


class Result(_RowOfProblem, BaseModel):
    """One row of a results table; None is "not measured, not known or not applicable"."""

    mask: str
    """What is visible: `full`, `causal`, … (`AttentionProblem.mask_name`)."""
    params: dict[str, ParameterValue] = {}
    params_source: ParamsSource | None = None
    """Where those of them come from that a search may choose; None where it was not recorded."""
    trial: Count | None = None
    """Of a search that has chosen them to try them: the number of the trial, 0 where it began."""
    chosen: dict[str, ParameterValue] = {}
    """Values of parameters that were left open, as variant, target or compiler chose them."""
    threads: Count | None = None
    target_options: dict[str, ParameterValue] = {}
    """The target's other options, which are among `params`, too: a peak may depend on them."""

    max_abs_error: float | None = None
    error_ratio: float | None = None
    """Largest error divided by its tolerance; above 1 is wrong."""
    tolerance: float | None = None
    distribution: str | None = None
    """Input distribution of the worst checked run."""
    checked_inputs: str | None = None
    """All that it was checked with, `normal, large-logits, seed 0`."""

    time_s: Timed[Positive] = None
    """Typical time of one call: the geometric mean over starts of the median over rounds."""
    time_low_s: Timed[float] = None
    time_high_s: Timed[float] = None
    """Its 95 % interval."""
    launch_s: Timed[float] = None
    """Median of what a call takes besides on an idle device, launching it and waiting for its result."""
    timed_by: Timed[TimedBy] = None
    """What marks calls on a device; None: the host's clock."""
    clock_mhz: float | None = None
    """Median of the device's clock while this was timed."""
    clock_before_mhz: float | None = None
    clock_after_mhz: float | None = None
    """The same right before the first call of a sample, and right after its last."""
    temperature_c: float | None = None
    """Median of the device's temperature after samples."""
    energy_j: Timed[float] = None
    """Median of the device's energy for a call, over calls in a row."""
    throttled_samples: Count | None = None
    """Samples that were not counted because the device was slowed down."""
    samples: Count | None = None
    starts: Count | None = None
    """How many processes, one after another, the samples were taken in."""
    noise: Timed[float] = None
    """Interquartile range over the median."""
    load: float | None = None
    """Share of the machine's processors that others used while this was timed."""
    busy: bool | None = None
    """Whether that share was above the experiment's limit: take the times with care."""
    baseline: str | None = None
    """Variant that `speedup` compares with."""
    baseline_case: str | None = None
    baseline_key: str | None = None
    """That case's content key when both were timed."""
    speedup: Timed[Positive] = None
    """Baseline's time / this one's time, paired by round: as `time_s`, of these ratios."""
    speedup_low: Timed[float] = None
    speedup_high: Timed[float] = None
    """95 % interval of the speed-up."""

    flops: Count
    flop_convention: str = FLOP_CONVENTION
    bytes: Count | None = None
    """Size of all inputs and outputs."""
    least_traffic_bytes: Count | None = None
    """What of them must be moved: what is visible is read once, and outputs are written once."""
    intensity: float | None = None
    """`flops / least_traffic_bytes`."""
    flops_executed: Count | None = None
    recompute_factor: float | None = None
    """`flops_executed / flops`."""
    tflops: Timed[Positive] = None
    """`flops / time_s`, in TFLOP/s."""
    fraction_of_peak: Timed[Positive] = None
    """Throughput over the peak, paired by round: as `time_s`, of these ratios.  Above 1 the peak was measured
    too low, or the code uses another unit."""
    fraction_of_peak_low: Timed[float] = None
    fraction_of_peak_high: Timed[float] = None
    """Its 95 % interval."""
    peak_unit: Timed[str] = None
    """What the peak is of, as the target names it: `fma-f32` also for f16 on the CPU."""
    peak_tflops: Timed[float] = None
    """Typical peak of that unit in turns with this case, on as many threads."""
    peak_noise: Timed[float] = None
    """Interquartile range over the median of that peak."""
    bandwidth_gb_s: dict[str, float] = {}
    """Measured bandwidths of reading, in GB/s by level of memory."""

    build_s: float | None = None
    stage_s: dict[str, float] = {}
    registers: Count | None = None
    spills: Count | None = None
    driver_registers: Count | None = None
    """Registers of a thread as the device's driver has loaded the code, the most of all kernels."""
    driver_local_bytes: Count | None = None
    """Memory of a thread's own, where the driver has put spilled registers, the most of all kernels."""
    accumulator_registers: Count | None = None
    scalar_registers: Count | None = None
    scratch_bytes: Count | None = None
    shared_bytes: Count | None = None
    workgroup_size: Count | None = None
    bank_conflicts: Count | None = None
    narrow_loads: Count | None = None
    occupancy: float | None = None
    intrinsics: str | None = None
    instructions: dict[str, int] = {}
    model: dict[str, float | str] = {}
    """What bounds the code in a model of its main loop (`harness.codegen.bounds`); nothing is measured."""
    counters: dict[str, float] = {}
    """Hardware counters of a call, by the vendor's profiler: shares of cycles from 0 to 1, and sums."""
    code_bytes: Count | None = None
    binary_digest: str | None = None
    """Digest of the machine code and of how it is launched: equal where nothing that runs differs."""
    workspace_bytes: Count | None = None
    peak_bytes: Count | None = None
    """Largest resident memory of the process that ran it."""

    @field_validator(*KNOWN_WHEN_FINITE, mode="after")
    @classmethod
    def _unknown_when_not_finite(cls, value: float | None) -> float | None:
        """Too few samples bound nothing: such a bound is not known."""
        return value if value is not None and math.isfinite(value) else None

    @model_validator(mode="after")
    def _timed_only_when_passed(self) -> Self:
        if self.status is not Status.PASSED:
            for field in TIMING_FIELDS:
                if getattr(self, field) is not None:
                    raise ValueError(
                        f"{field} on a row that is {self.status}: only a passed row may have a time"
                    )
        return self


def printed_params(params: Mapping[str, ParameterValue]) -> str:
    """Return parameters as the column `params` prints them, `tile_kv=64 tile_q=32`."""
    return " ".join(f"{name}={value}" for name, value in sorted(params.items()))


SEQ = "seq"
"""The column before `seq_q` that has the length of queries and keys where both are equal."""

PRINTED = ("params", "chosen", "target_options")
"""Fields that are shown as a text, `tile_kv=64 tile_q=32`."""

BY_NAME = ("bandwidth_gb_s", "stage_s", "instructions", "model", "counters")
"""Fields of which each entry has a column of its own."""

SPEEDUP_FIELDS = ("baseline", "baseline_case", "baseline_key", "speedup", "speedup_low", "speedup_high")
"""What a row says of its comparison with the baseline."""

TIMING_FIELDS = tuple(name for name, field in Result.model_fields.items() if OF_A_TIME in field.metadata)
"""What follows from a time, and so may stand only on a row that passed."""

"""The record of one case, and a run's folder on disk."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, model_validator

from harness.case import ParameterValue
from harness.problem import FLOP_CONVENTION
from harness.status import Status

FORMAT_VERSION = 1
"""Version of a results folder; raised when a column changes its meaning or a file its place."""


class Result(BaseModel):
    """One row of a results table; None is "not measured, not known or not applicable"."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    experiment: str
    run: str
    case: str
    """Case id."""
    key: str | None = None
    """Content key of what was built; a resumed run repeats a case whose key has changed."""
    variant: str
    target: str
    executor: str = "none"
    device: str | None = None
    status: Status
    phase: str | None = None
    """Where it ended: plan, build, load, run, check or time; None when all went well."""
    reason: str | None = None
    rerun: str | None = None
    """The command that reruns this case alone, on rows that are failures."""

    batch: int
    heads: int
    kv_heads: int
    seq_q: int
    seq_kv: int
    head_dim: int
    head_dim_v: int
    dtype: str
    mask: str
    """What is visible: `full`, `causal`, … (`AttentionProblem.mask_name`)."""
    causal: bool
    causal_alignment: str
    window: str | None = None
    softcap: float | None = None
    scale: float
    bias: bool = False
    boolean_mask: bool = False
    kv_lengths: str | None = None
    cu_seqlens_q: str | None = None
    cu_seqlens_kv: str | None = None
    model_width: int | None = None
    params: dict[str, ParameterValue] = {}
    threads: int | None = None

    max_abs_error: float | None = None
    error_ratio: float | None = None
    """Largest error divided by its tolerance; above 1 is wrong."""
    tolerance: float | None = None
    distribution: str | None = None
    """Input distribution of the worst checked run."""

    time_s: float | None = None
    """Median time of one call."""
    time_low_s: float | None = None
    time_high_s: float | None = None
    """95 % bootstrap interval of the median."""
    samples: int | None = None
    noise: float | None = None
    """Interquartile range over the median."""
    load: float | None = None
    """Share of the machine's processors that others used while this was timed."""
    busy: bool | None = None
    """Whether that share was above the experiment's limit: take the times with care."""
    baseline: str | None = None
    """Variant that `speedup` compares with."""
    speedup: float | None = None
    """Median over the rounds of (baseline's time / this one's time), paired by round."""
    speedup_low: float | None = None
    speedup_high: float | None = None
    """95 % bootstrap interval of the speed-up."""

    flops: int
    flop_convention: str = FLOP_CONVENTION
    flops_executed: int | None = None
    recompute_factor: float | None = None
    """`flops_executed / flops`."""
    tflops: float | None = None
    """`flops / time_s`, in TFLOP/s."""
    fraction_of_peak: float | None = None
    """Of the peak that was measured on this device with the same threads."""

    build_s: float | None = None
    stage_s: dict[str, float] = {}
    registers: int | None = None
    spills: int | None = None
    shared_bytes: int | None = None
    code_bytes: int | None = None
    workspace_bytes: int | None = None
    peak_bytes: int | None = None
    """Largest resident memory of the process that ran it."""

    @model_validator(mode="after")
    def _timed_only_when_passed(self) -> Self:
        if self.time_s is not None and self.status is not Status.PASSED:
            raise ValueError(f"a time on a row that is {self.status}")
        return self

    def as_row(self) -> dict[str, Any]:
        """Return the result as plain values, one per column."""
        return self.model_dump(mode="json")

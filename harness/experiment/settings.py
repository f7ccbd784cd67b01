"""The settings of an experiment that are no axes of its problems: variants, checks, timing, limits."""

from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PositiveFloat,
    PositiveInt,
    field_validator,
    model_validator,
)

from harness.experiment.axes import CONDITION_NAMES, ProblemAxes, as_axis
from harness.experiment.condition import parse_condition
from harness.problem.case import ParameterValue
from harness.system.numbers import LONGEST_TIMEOUT_S
from harness.system.validation import FrozenModel, each_once

SettingsAxis = Annotated[
    tuple[ParameterValue, ...], Field(min_length=1), BeforeValidator(as_axis), AfterValidator(each_once)
]
SettingsAxes = dict[str, SettingsAxis]
LARGEST_MEMORY_GB = 2.0**20
"""About a petabyte: more than machines have, and than limits of processes can count."""
Names = Annotated[tuple[str, ...], Field(min_length=1), AfterValidator(each_once)]
Seconds = Annotated[PositiveFloat, Field(le=LONGEST_TIMEOUT_S, allow_inf_nan=False)]


ParamsAxis = Annotated[
    tuple[Literal["default", "tuned"], ...],
    Field(min_length=1),
    BeforeValidator(as_axis),
    AfterValidator(each_once),
]
"""Where the settings of cases that leave all of them open come from."""


class VariantSettings(FrozenModel):
    """`[variant.NAME]`: the variant's parameters, each an axis, and the problems that it takes part in."""

    where: str | None = None
    """A condition over problem and `target`, `seq <= 2048`; elsewhere the variant has no case."""
    parameters: SettingsAxes = Field(default={})

    @model_validator(mode="before")
    @classmethod
    def _split(cls, table: Any) -> Any:
        """In the file the parameters stand beside `where`."""
        if not isinstance(table, dict) or "parameters" in table:
            return table
        parameters = {key: value for key, value in table.items() if key != "where"}
        return {"where": table.get("where"), "parameters": parameters}

    @field_validator("where")
    @classmethod
    def _readable(cls, text: str | None) -> str | None:
        if text is not None:
            parse_condition(text, CONDITION_NAMES)
        return text


class CheckSettings(FrozenModel):
    """`[check]`: what every case is checked with."""

    distributions: Names = ("normal",)
    """Names from `harness.problem.inputs.DISTRIBUTIONS`; a case must pass with each of them."""
    seed: Annotated[int, Field(ge=0)] = 0
    supported: Annotated[tuple[str, ...], AfterValidator(each_once)] = ()
    """Variants of which no case may be unsupported: `harness check` fails if one is."""
    keep_outputs: bool = False
    """Whether outputs for the first distribution stay in the run's folder, see `harness.results`."""

    @property
    def inputs(self) -> str:
        """What cases are checked with, in words: `normal, large-logits, seed 0`."""
        return f"{', '.join(self.distributions)}, seed {self.seed}"


class TimingSettings(FrozenModel):
    """`[timing]`: how long and how exactly to measure."""

    enabled: bool = True
    interval: Annotated[float, Field(gt=0, lt=1)] = 0.01
    """Sampling stops when the 95 % interval of every paired ratio is this narrow, relative to the ratio …"""
    budget_s: Seconds = 20.0
    """… or when this many seconds were spent on one problem, those of starting processes included."""
    starts: PositiveInt = 10
    """How often every candidate is started before `interval` may end a timing: of fewer, intervals are narrow
    by chance too often.  With 1 they know nothing of how starts differ."""
    min_rounds: PositiveInt = 6
    max_rounds: PositiveInt | None = None
    """Time and precision end a timing; a number of rounds does where it is set."""
    min_sample_s: Seconds = 0.004
    """A sample repeats the call until it lasts this long: what disturbs a machine changes in tens of
    milliseconds, and neighbours in time share it."""
    graphs: bool = False
    """Whether a device takes the calls of a sample as one graph, for calls shorter than some 20 µs."""
    energy_s: Annotated[float, Field(ge=0, le=LONGEST_TIMEOUT_S)] = 0.0
    """So many seconds of calls in a row tell the energy of a call in each start, if a device counts it."""
    busy_limit: Annotated[float, Field(gt=0, le=1)] = 0.10
    """A run during which others used more than this share of the processors is flagged as busy."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.max_rounds is not None and self.min_rounds > self.max_rounds:
            raise ValueError(f"min_rounds {self.min_rounds} is more than max_rounds {self.max_rounds}")
        return self


class CheckOfTable(FrozenModel):
    """`[problems.check]`: what replaces settings of `[check]` for a table's problems."""

    distributions: Names | None = None


class TimingOfTable(FrozenModel):
    """`[problems.timing]`: what replaces settings of `[timing]` for a table's problems."""

    enabled: bool = True
    """`false`: its problems are checked, and not timed."""


class ProblemTable(ProblemAxes):
    """A table `[problem]` or `[[problems]]`: a product of axes, and settings for these problems alone."""

    variant: dict[str, VariantSettings] = Field(default={})
    target: dict[str, SettingsAxes] = Field(default={})
    check: CheckOfTable = CheckOfTable()
    timing: TimingOfTable = TimingOfTable()


class LimitSettings(FrozenModel):
    """`[limits]`: what a worker process may use before it is ended."""

    build_timeout_s: Seconds = 120.0
    run_timeout_s: Seconds = 120.0
    """For one step: loading, checking one input, or taking one sample."""
    memory_gb: Annotated[float, Field(gt=0, le=LARGEST_MEMORY_GB)] | None = None
    """Memory that a worker may write to, in GB (10⁹ bytes; RLIMIT_DATA); unlimited where not set.

    It holds for each process by itself: what a worker starts, such as a compiler, may take as much again.
    """
    emulated_gflop: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 4.0
    """Operations of a case, in 10⁹, that the emulator takes up; code that executes more is built, and not run
    without a device.  The emulator does about one in a second on a core."""

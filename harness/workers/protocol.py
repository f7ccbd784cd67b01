"""What a worker process can be asked, and what it answers: one JSON line each way.

Both sides of the pipe are the same version of this package, so there is no version negotiation.
"""

from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from harness.artifact.artifact import Artifact
from harness.artifact.device_facts import DeviceFacts, DriverMetrics
from harness.numbers import Count, MeasuredSeconds, Positive
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case, ParameterValue

FailureKind = Literal[
    "bad-input",
    "unsupported",
    "build-failed",
    "out-of-memory",
    "crashed",
    "wrong",
    "no-room",
    "killed",
    "removed",
    "changed-code",
]

Measured = Literal["peak", "bandwidths"]
"""What a target measures of what it can do at most."""

AbsolutePath = Annotated[Path, AfterValidator(Path.absolute)]
"""A path that means the same to both sides, which work in different folders."""


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")


class KeyRequest(_Message):
    """Compute the content key of a case without building it; answered by `KeyFound`."""

    phase: ClassVar[str] = "plan"
    kind: Literal["key"] = "key"
    case: Case


class BuildRequest(_Message):
    """Build a case, or find it in the cache; answered by `Built`."""

    phase: ClassVar[str] = "build"
    kind: Literal["build"] = "build"
    case: Case
    key: str | None = None
    """The case's content key, if it is known already."""
    cache_root: AbsolutePath | None = None
    """Folder of the artifact cache; None is the user's."""
    stages: AbsolutePath | None = None
    """Folder where each stage's output is left at once, for a build that fails; None if nobody reads it."""


class ExpectRequest(_Message):
    """Let the oracle compute a problem and save what it expects to a file; answered by `Done`."""

    kind: Literal["expect"] = "expect"
    problem: AttentionProblem
    distribution: str
    seed: int
    number: Annotated[int, Field(ge=0)] = 0
    """Which inputs, see `harness.problem.changing_inputs`."""
    operands: Annotated[int, Field(ge=0)] = 0
    """Which mask, bias, sinks and weights, likewise; 0 are those drawn with the others."""
    file: AbsolutePath


class LoadRequest(_Message):
    """Load an artifact's code into the worker; answered by `Loaded`."""

    kind: Literal["load"] = "load"
    folder: AbsolutePath
    code: dict[str, str] = {}
    """Digests of the sources, by package, that the case's key is of; nothing is asked of others."""
    candidate: Annotated[int, Field(ge=0)] | None = None
    """The candidate to take, see `Artifact.with_candidate`; None: the fastest here."""


class BindRequest(_Message):
    """Make inputs and bind the loaded code to them, in fresh memory; answered by `Done`."""

    kind: Literal["bind"] = "bind"
    distribution: str
    seed: int
    changes: bool = False
    """Whether other inputs follow in a check: then these stay in memory beside what code copies of them."""


class RunRequest(_Message):
    """Run the bound call once; answered by `Ran`."""

    kind: Literal["run"] = "run"
    poison: bool = True
    """Whether output and scratch are poisoned before; else it finds what the call before has left."""
    reads: bool = False
    """Whether its outputs are read at once, for the `CheckRequest` that follows."""


class CheckRequest(_Message):
    """Compare the last run's output with what the oracle expects; answered by `Checked`.

    Inputs that the code has changed are a failure of the kind `wrong`.
    """

    kind: Literal["check"] = "check"
    expectation: AbsolutePath
    dump: AbsolutePath | None = None
    """Where a wrong output goes, with what was expected, as an .npz file."""
    keep: AbsolutePath | None = None
    """Where the outputs go, right or wrong (`harness.results.kept_outputs`)."""
    repeats: bool = False
    """Whether a call that is right, and short, is repeated on the same inputs."""


class ChangeInputsRequest(_Message):
    """Make other inputs in the place of those that the call was bound to; answered by `Done`.

    Only after a bind that `changes`.  The call has them after `GiveInputsRequest`.
    """

    kind: Literal["change-inputs"] = "change-inputs"
    number: Annotated[int, Field(ge=0)]
    """Which inputs, see `harness.problem.changing_inputs`."""


class ChangeOperandsRequest(_Message):
    """Make another mask, bias, sinks and weights in their place, and bind anew; answered by `Done`.

    Only after a bind as for `ChangeInputsRequest`.
    """

    kind: Literal["change-operands"] = "change-operands"
    seed: int
    turn: Annotated[int, Field(gt=0)]
    """Which ones, see `harness.problem.changing_inputs`."""


class GiveInputsRequest(_Message):
    """Let the bound call take the inputs as they are now; answered by `InputsGiven`."""

    kind: Literal["give-inputs"] = "give-inputs"


FreshCall = Literal["run", "read", "copy"]
"""What is done with new inputs: a call whose outputs are read, reading them alone, or a copy of them."""


class PrepareStartsRequest(_Message):
    """Read an artifact, draw inputs, read what is expected of them, and have lives that begin with all that.

    Answered by the `Greeting` of the first of these lives.
    """

    kind: Literal["prepare-starts"] = "prepare-starts"
    folder: AbsolutePath
    code: dict[str, str] = {}
    """As in a `LoadRequest`."""
    candidate: Annotated[int, Field(ge=0)] = 0
    """Which of the artifact's candidates."""
    distribution: str
    seed: int
    expectation: AbsolutePath


class StartRequest(_Message):
    """Load the prepared code, and bind it to copies of the prepared inputs; answered by `Done`."""

    kind: Literal["start"] = "start"
    placement: int
    """Seed of where in memory the arrays lie."""
    processor: int | None = None
    """On which processor alone the life runs from then on."""


class FreshCallsRequest(_Message):
    """Give new inputs, poison outputs, and call and read them, or less, some times; answered by `Done`."""

    kind: Literal["fresh-calls"] = "fresh-calls"
    number: Annotated[int, Field(ge=0)]
    """Of the first inputs."""
    times: Annotated[int, Field(ge=0)]
    call: FreshCall = "run"


class SampleRequest(_Message):
    """Take new inputs, poison outputs, then call again and again until at least `min_seconds` have passed.

    Answered by `Sampled`.
    """

    kind: Literal["sample"] = "sample"
    number: Annotated[int, Field(ge=0)]
    """Which inputs, see `ChangingInputs.refresh`."""
    is_verified: bool = False
    """Whether the right output of the inputs is known, and what the sample leaves is compared with it."""
    min_seconds: float
    graphs: bool = False
    """Whether a device takes the calls as one graph, see `BoundCall.sample_graphs`."""
    energy_s: Annotated[float, Field(ge=0)] = 0.0
    """Over how many seconds of further calls their energy is counted."""


class PeakRequest(_Message):
    """Take a short sample of a target's peak and bandwidths; answered by `PeakMeasured`."""

    kind: Literal["peak"] = "peak"
    target: str
    dtype: str
    target_options: dict[str, ParameterValue] = {}
    bandwidths: bool = False
    """Whether bandwidths of all levels of memory are measured, too."""


class RestartRequest(_Message):
    """Begin a new life: a process as the worker's was before the first request; answered by `Greeting`."""

    kind: Literal["restart"] = "restart"


class Greeting(_Message):
    """What a worker says first in each of its lives: it has started, and which process it is."""

    kind: Literal["greeting"] = "greeting"
    pid: Annotated[int, Field(gt=0)]


class Done(_Message):
    """It is done, and there is nothing to tell."""

    kind: Literal["done"] = "done"


class Loaded(_Message):
    """The code is loaded."""

    kind: Literal["loaded"] = "loaded"
    candidate: Annotated[int, Field(ge=0)] = 0
    """Which candidate it is."""
    metrics: DriverMetrics = DriverMetrics()
    """What a device's driver says of it."""


class KeyFound(_Message):
    """The case's content key and the device its code would run on."""

    kind: Literal["key-found"] = "key-found"
    key: str
    device: str
    code: dict[str, str] = {}
    """Digests of the sources that the key is of, by package."""


class Built(_Message):
    """A built case."""

    kind: Literal["built"] = "built"
    artifact: Artifact
    folder: Path
    cached: bool
    """Whether the artifact was in the cache already, so that its build times are from an earlier run."""


class Ran(_Message):
    """The bound call has run."""

    kind: Literal["ran"] = "ran"
    peak_bytes: Count
    """Largest resident memory of the worker during the run."""


class Checked(_Message):
    """The oracle's verdict on one run."""

    kind: Literal["checked"] = "checked"
    ok: bool
    max_abs_error: Annotated[float, Field(ge=0)]
    error_ratio: Annotated[float, Field(ge=0)]
    tolerance: Annotated[float, Field(ge=0)]
    first_bad: str | None = None
    """Where the first element outside the tolerance lies, for a person."""
    details: str | None = None
    """How many rows are wrong, where they lie, and a value of the first."""

    @model_validator(mode="after")
    def _ok_within_the_tolerance(self) -> Self:
        if self.ok and not self.error_ratio <= 1:
            raise ValueError(f"ok with an error of {self.error_ratio} tolerances")
        return self


class Sampled(_Message):
    """One timing sample."""

    kind: Literal["sampled"] = "sampled"
    seconds: MeasuredSeconds
    """Mean time of one call."""
    calls: Annotated[Count, Field(ge=1)]
    besides_s: Annotated[float, Field(ge=0)]
    """Seconds until the inputs were new and the outputs poisoned, and in which the output was looked at."""
    verdict: Checked | None = None
    """What the oracle says of a verified sample's output."""
    device: DeviceFacts = DeviceFacts()
    throttled: str | None = None
    """See `harness.artifact.artifact.Sample`."""


class InputsGiven(_Message):
    """The bound call has other inputs."""

    kind: Literal["inputs-given"] = "inputs-given"
    is_in_place: bool
    """Whether the call took them; else the code was bound anew."""


class PeakMeasured(_Message):
    """A sample of what a target can do at most."""

    kind: Literal["peak-measured"] = "peak-measured"
    flops: Positive | None
    """FLOP/s, or None where it cannot be measured."""
    bandwidths: dict[str, Positive] = {}
    """Bytes/s by level of memory, of the levels that this sample measured."""
    faults: dict[Measured, str] = {}
    """Why one of them, or both, could not be measured although the target says that it can."""


class Failed(_Message):
    """The request raised an exception; the worker lives on, and its log holds the traceback."""

    kind: Literal["failed"] = "failed"
    failure: FailureKind
    message: str


Request = Annotated[
    KeyRequest
    | BuildRequest
    | ExpectRequest
    | LoadRequest
    | BindRequest
    | RunRequest
    | CheckRequest
    | ChangeInputsRequest
    | ChangeOperandsRequest
    | GiveInputsRequest
    | PrepareStartsRequest
    | StartRequest
    | FreshCallsRequest
    | SampleRequest
    | PeakRequest
    | RestartRequest,
    Field(discriminator="kind"),
]
Response = Annotated[
    Greeting
    | Done
    | Loaded
    | KeyFound
    | Built
    | Ran
    | Checked
    | Sampled
    | InputsGiven
    | PeakMeasured
    | Failed,
    Field(discriminator="kind"),
]

ANSWERS: dict[type[BaseModel], type[BaseModel]] = {
    KeyRequest: KeyFound,
    BuildRequest: Built,
    ExpectRequest: Done,
    LoadRequest: Loaded,
    BindRequest: Done,
    RunRequest: Ran,
    CheckRequest: Checked,
    ChangeInputsRequest: Done,
    ChangeOperandsRequest: Done,
    GiveInputsRequest: InputsGiven,
    PrepareStartsRequest: Greeting,
    StartRequest: Done,
    FreshCallsRequest: Done,
    SampleRequest: Sampled,
    PeakRequest: PeakMeasured,
    RestartRequest: Greeting,
}
"""What each request is answered by, if it does not fail."""

REQUESTS: TypeAdapter[Request] = TypeAdapter(Request)
RESPONSES: TypeAdapter[Response] = TypeAdapter(Response)

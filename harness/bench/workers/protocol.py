"""What requests to a worker process and their answers have in common, and the answers.

A request is one class beside the code that it asks for: its fields are what is asked, and its `answer` is
what the worker does.  Both sides are the same version of this package, so messages are pickled.
"""

import pickle
import socket
from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from harness.artifact.artifact import Artifact
from harness.artifact.device_facts import DeviceFacts, DriverMetrics
from harness.system.numbers import Count, MeasuredSeconds, Positive

if TYPE_CHECKING:
    from harness.oracle.expected import Verdict

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


Answer = TypeVar("Answer")
Kept = TypeVar("Kept")

LENGTH_BYTES = 8
"""What says how long a message is, before it."""


def send_message(channel: socket.socket, message: object) -> None:
    """Write a request or an answer."""
    data = pickle.dumps(message)
    channel.sendall(len(data).to_bytes(LENGTH_BYTES, "little") + data)


def receive_message(channel: socket.socket) -> Any:
    """Read a request or an answer; raises `EOFError` where the other side has closed the channel, or died."""
    length = int.from_bytes(_read(channel, LENGTH_BYTES), "little")
    return pickle.loads(_read(channel, length))


def _read(channel: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        try:
            part = channel.recv(length - len(data), socket.MSG_WAITALL)
        except ConnectionResetError:
            part = b""
        if not part:
            raise EOFError
        data += part
    return data


class Life:
    """What requests leave for those that follow in one life of a worker: one object of each type."""

    def __init__(self) -> None:
        self._objects: dict[type, object] = {}
        self.begins_others = False
        """Whether forks of this process are to serve from now on, each with what is kept now."""

    def keep(self, thing: object) -> None:
        """Keep an object in the place of that of the same type."""
        self._objects[type(thing)] = thing

    def forget(self, kind: type) -> None:
        """Release the object of a type, if there is one."""
        self._objects.pop(kind, None)

    def kept(self, kind: type[Kept], missing: str) -> Kept:
        """Return the object of a type; raises `RuntimeError`, which says what is `missing`."""
        thing = self._objects.get(kind)
        if not isinstance(thing, kind):
            raise RuntimeError(missing)
        return thing


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Request(_Message, Generic[Answer]):
    """Something that a worker is asked; subclasses are all that there is of a request."""

    @abstractmethod
    def answer(self, life: Life) -> Answer:
        """Do it, in the worker; what this raises is a failure of the request."""


FreshCall = Literal["run", "read", "copy"]
"""What is done with new inputs: a call whose outputs are read, reading them alone, or a copy of them."""


class Greeting(_Message):
    """What a worker says first in each of its lives: it has started, and which process it is."""

    pid: Annotated[int, Field(gt=0)]


class Done(_Message):
    """It is done, and there is nothing to tell."""


class Loaded(_Message):
    """The code is loaded."""

    metrics: DriverMetrics = DriverMetrics()
    """What a device's driver says of it."""


class KeyFound(_Message):
    """The case's content key and the device its code would run on."""

    key: str
    device: str
    code: dict[str, str] = {}
    """Digests of the sources that the key is of, by package."""


class Built(_Message):
    """A built case."""

    artifact: Artifact
    folder: Path
    cached: bool
    """Whether the artifact was in the cache already, so that its build times are from an earlier run."""


class Ran(_Message):
    """The bound call has run."""

    peak_bytes: Count
    """Largest resident memory of the worker during the run."""


class Checked(_Message):
    """The oracle's verdict on one run."""

    ok: bool
    max_abs_error: Annotated[float, Field(ge=0)]
    error_ratio: Annotated[float, Field(ge=0)]
    tolerance: Annotated[float, Field(ge=0)]
    first_bad: str | None = None
    """Where the first element outside the tolerance lies, for a person."""
    details: str | None = None
    """How many rows are wrong, where they lie, and a value of the first."""

    @classmethod
    def of(cls, verdict: "Verdict") -> Self:
        """Return a verdict as an answer."""
        return cls(
            ok=verdict.ok,
            max_abs_error=verdict.max_abs_error,
            error_ratio=verdict.error_ratio,
            tolerance=verdict.tolerance,
            first_bad=None if verdict.first_bad is None else str(verdict.first_bad),
            details=verdict.details,
        )

    @model_validator(mode="after")
    def _ok_within_the_tolerance(self) -> Self:
        if self.ok and not self.error_ratio <= 1:
            raise ValueError(f"ok with an error of {self.error_ratio} tolerances")
        return self


class Sampled(_Message):
    """One timing sample."""

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


class PeakMeasured(_Message):
    """A sample of what a target can do at most."""

    flops: Positive | None
    """FLOP/s, or None where it cannot be measured."""
    bandwidths: dict[str, Positive] = {}
    """Bytes/s by level of memory, of the levels that this sample measured."""
    faults: dict[Measured, str] = {}
    """Why one of them, or both, could not be measured although the target says that it can."""


class Failed(_Message):
    """The request raised an exception; the worker lives on, and its log holds the traceback."""

    failure: FailureKind
    message: str

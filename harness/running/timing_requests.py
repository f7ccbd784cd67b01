"""What the worker that times a case is asked: to prepare it, to start it, and to take samples."""

import os
import time
from typing import Annotated

from pydantic import Field

from harness.code_digests import code_digests, require_same_code
from harness.processes.affinity import keep_on
from harness.running.prepared_case import PreparedCase, StartedCase
from harness.workers.protocol import (
    AbsolutePath,
    Checked,
    Done,
    FreshCall,
    Greeting,
    Life,
    Request,
    Sampled,
)


class PrepareStartsRequest(Request[Greeting]):
    """Read an artifact, draw inputs, read what is expected of them, and have lives that begin with all that.

    Answered by the `Greeting` of the first of these lives.
    """

    folder: AbsolutePath
    code: dict[str, str] = Field(default_factory=dict)
    """As in a `LoadRequest`."""
    candidate: Annotated[int, Field(ge=0)] = 0
    """Which of the artifact's candidates."""
    distribution: str
    seed: int
    expectation: AbsolutePath

    def answer(self, life: Life) -> Greeting:
        """Prepare the case."""
        prepared = PreparedCase.read(
            self.folder, self.distribution, self.seed, self.expectation, self.candidate
        )
        require_same_code(self.code, code_digests(self.code))
        life.keep(prepared)
        life.begins_others = True
        return Greeting(pid=os.getpid())


class StartRequest(Request[Done]):
    """Load the prepared code, and bind it to copies of the prepared inputs."""

    placement: int
    """Seed of where in memory the arrays lie."""
    processor: int | None = None
    """On which processor alone the life runs from then on."""

    def answer(self, life: Life) -> Done:
        """Start the case."""
        prepared = life.kept(PreparedCase, "a start was asked for before it was prepared")
        life.keep(prepared.start(self.placement))
        if self.processor is not None:
            keep_on(self.processor)
        return Done()


class FreshCallsRequest(Request[Done]):
    """Give new inputs, poison outputs, and call and read them, or less, some times."""

    number: Annotated[int, Field(ge=0)]
    """Of the first inputs."""
    times: Annotated[int, Field(ge=0)]
    call: FreshCall = "run"

    def answer(self, life: Life) -> Done:
        """Call."""
        _started(life).fresh_calls(self.number, self.times, self.call)
        return Done()


class SampleRequest(Request[Sampled]):
    """Take new inputs, poison outputs, then call again and again until at least `min_seconds` have passed."""

    number: Annotated[int, Field(ge=0)]
    """Which inputs, see `ChangingInputs.refresh`."""
    is_verified: bool = False
    """Whether the right output of the inputs is known, and what the sample leaves is compared with it."""
    min_seconds: float
    graphs: bool = False
    """Whether a device takes the calls as one graph, see `BoundCall.sample_graphs`."""
    energy_s: Annotated[float, Field(ge=0)] = 0.0
    """Over how many seconds of further calls their energy is counted."""

    def answer(self, life: Life) -> Sampled:
        """Take the sample."""
        began, started = time.perf_counter(), _started(life)
        if self.is_verified:
            started.give_verified_inputs(self.number)
        else:
            started.refresh(self.number)
        call, besides_s = started.call, time.perf_counter() - began
        sample = call.sample_graphs if self.graphs else call.sample
        taken = sample(self.min_seconds)
        device = taken.device
        if self.energy_s:
            device = device.model_copy(update={"energy_j": call.energy(self.energy_s)})
        began = time.perf_counter()
        verdict = Checked.of(started.verdict(self.number)) if self.is_verified else None
        return Sampled(
            seconds=taken.seconds,
            calls=taken.calls,
            besides_s=besides_s + time.perf_counter() - began,
            verdict=verdict,
            device=device,
            throttled=taken.throttled,
        )


def _started(life: Life) -> StartedCase:
    return life.kept(StartedCase, "a sample was asked for before a start")

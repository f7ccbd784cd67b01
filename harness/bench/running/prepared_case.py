"""A case in the worker that times it: prepared once, started again and again, and sampled.

A start draws the luck of addresses anew: it is a fork of a process in which the artifact is read and its
inputs are drawn, and maps code, arrays and stack elsewhere (`harness.system.machine.placement`).  Nothing is
imported, parsed, drawn or checked again.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self

import numpy as np
from pydantic import Field

from harness.artifact.artifact import Artifact
from harness.artifact.bound_call import BoundCall, Executable
from harness.artifact.code_digests import code_digests, require_same_code
from harness.bench.building.case_build import read_artifact
from harness.bench.running.output_check import OutputCheck, outputs_of
from harness.bench.workers.protocol import (
    AbsolutePath,
    Checked,
    Done,
    FreshCall,
    Greeting,
    Life,
    Request,
    Sampled,
)
from harness.oracle.expected import Expected, Verdict
from harness.problem.changing_inputs import TURNED, ChangingInputs
from harness.problem.inputs import Inputs, guarded, make_inputs
from harness.system.machine.placement import placement
from harness.system.processes.affinity import keep_on


@dataclass(frozen=True)
class PreparedCase:
    """What all starts of a case have in common."""

    artifact: Artifact
    folder: Path
    inputs: Inputs
    expected: Expected
    """What the oracle expects of the inputs as they were drawn."""

    @classmethod
    def read(cls, folder: Path, distribution: str, seed: int, expectation: Path) -> Self:
        """Read a built case, whose files are as they were stored, and draw its inputs."""
        artifact = read_artifact(folder)
        artifact.require_unchanged(folder)
        inputs = make_inputs(artifact.case.problem, distribution, seed).as_given()
        return cls(artifact, folder, inputs, Expected.load(expectation))

    def start(self, placement_seed: int) -> "StartedCase":
        """Load the code, bind it to copies of the inputs at addresses that a seed chooses, and call once.

        The call touches all memory, so that no sample does it first.  Its inputs are none of a sample's.
        """
        placement.vary(placement_seed)
        executable = self.artifact.load_unchanged(self.folder)
        executable.take_process()
        started = StartedCase(executable, guarded(self.inputs), self.expected)
        started.refresh(0)
        started.call.run()
        return started


class StartedCase:
    """Loaded code and the call that is timed."""

    def __init__(self, executable: Executable, inputs: Inputs, expected: Expected) -> None:
        self._executable = executable
        self._changing = ChangingInputs(inputs)
        self._expected = expected
        self.call: BoundCall = executable.bind(inputs)
        self._outputs: dict[str, np.ndarray] = {}

    def refresh(self, number: int) -> None:
        """Let the call have inputs that it has not seen, and poison its outputs."""
        self._changing.refresh(number)
        self._give()
        self.call.poison_outputs()

    def give_verified_inputs(self, number: int) -> None:
        """Let the call have inputs whose right output is known, and poison its outputs.

        Even numbers are the inputs as drawn, odd ones have the other sign: no call of
        this start has seen these.
        """
        self._changing.become(number % 2)
        self._give()
        self.call.poison_outputs()

    def verdict(self, number: int) -> Verdict:
        """Compare what the calls on the verified inputs of a number have left with what is expected.

        The outputs are read when the arrays hold other inputs already, which no call has taken: code that
        computes only when its outputs are read has none of the right ones then.
        """
        is_negated = self._changing.is_negated
        self._changing.become(TURNED)
        outputs = outputs_of(self.call)
        self._changing.become(number % 2)
        check = OutputCheck(self.call, self._expected, is_negated)
        return self._expected.check_outputs(check.outputs(outputs))

    def fresh_calls(self, number: int, times: int, call: FreshCall) -> None:
        """Give new inputs and poison outputs so many times, and each time call and read them, or less."""
        for turn in range(number, number + times):
            self.refresh(turn)
            if call == "copy":
                self._outputs = {name: np.array(array) for name, array in self._outputs.items()}
                continue
            if call == "run":
                self.call.run()
            self._outputs = self.call.outputs()

    def _give(self) -> None:
        """Let the call take the inputs as they are now, or bind it anew."""
        if not self.call.take_inputs(self._changing.inputs):
            self.call = self._executable.bind(self._changing.inputs)


class PrepareStartsRequest(Request[Greeting]):
    """Read an artifact, draw inputs, read what is expected of them, and have lives that begin with all that.

    Answered by the `Greeting` of the first of these lives.
    """

    folder: AbsolutePath
    code: dict[str, str] = Field(default_factory=dict)
    """As in a `LoadRequest`."""
    distribution: str
    seed: int
    expectation: AbsolutePath

    def answer(self, life: Life) -> Greeting:
        """Prepare the case."""
        prepared = PreparedCase.read(self.folder, self.distribution, self.seed, self.expectation)
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

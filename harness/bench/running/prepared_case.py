"""A case in the worker that times it: prepared once, started again and again, and sampled.

A start draws the luck of addresses anew: it is a fork of a process in which the artifact is read and its
inputs are drawn, and maps code, arrays and stack elsewhere (`harness.system.machine.placement`).  Nothing is
imported, parsed, drawn or checked again.
"""

import math
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from harness.artifact.artifact import Artifact
from harness.artifact.bound_call import BoundCall, Executable, Sample
from harness.artifact.code_digests import code_digests, require_same_code
from harness.bench.building.case_build import read_artifact
from harness.bench.running.output_check import OutputCheck, outputs_of
from harness.bench.workers.protocol import Greeting, Life
from harness.oracle.expected import Expected, Verdict
from harness.problem.case import Case
from harness.problem.changing_inputs import TURNED, ChangingInputs
from harness.problem.inputs import Inputs, guarded, make_inputs
from harness.system.machine.placement import placement
from harness.system.processes.affinity import keep_on
from harness.system.processes.waiting import longest_wait, waits_of


@dataclass(frozen=True)
class PreparedCase:
    """What all starts of a case have in common."""

    artifact: Artifact
    folder: Path
    inputs: Inputs
    expected: Expected
    """What the oracle expects of the inputs as they were drawn."""

    @classmethod
    def read(
        cls, folder: Path, case: Case, distribution: str, seed: int, expectation: Path, candidate: int = 0
    ) -> Self:
        """Read a built case, whose files are as they were stored, and draw its inputs."""
        artifact = read_artifact(folder, case).with_candidate(candidate)
        artifact.require_unchanged(folder)
        inputs = make_inputs(case.problem, distribution, seed).as_given()
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

    def _give(self) -> None:
        if not self.call.take_inputs(self._changing.inputs):
            self.call = self._executable.bind(self._changing.inputs)


@dataclass(frozen=True)
class TimedSample:
    """A sample by the clock of the worker, and what it took besides."""

    sample: Sample
    besides_s: float
    """Seconds until the inputs were new and the outputs poisoned, and in which the output was looked at."""
    verdict: Verdict | None = None


def prepare_case(
    life: Life,
    folder: Path,
    case: Case,
    code: dict[str, str],
    candidate: int,
    distribution: str,
    seed: int,
    expectation: Path,
) -> Greeting:
    """Read an artifact, draw inputs, read what is expected of them; lives begin with all that then."""
    prepared = PreparedCase.read(folder, case, distribution, seed, expectation, candidate)
    require_same_code(code, code_digests(code))
    life.keep(prepared)
    life.begins_others = True
    return Greeting(pid=os.getpid())


def start_case(life: Life, placement_seed: int, processor: int | None = None) -> None:
    """Load the prepared code, and bind it to copies of the inputs at addresses that a seed chooses."""
    life.keep(life.kept(PreparedCase).start(placement_seed))
    if processor is not None:
        keep_on(processor)


def call_once(life: Life, number: int, *, is_of_device: bool) -> float:
    """Call once on new inputs and read the outputs; return seconds that count for neither.

    What a thread waits for a processor that others use is among them.  From a device outputs are copied
    however little is computed: reading them does not count there.
    """
    started, began = life.kept(StartedCase), time.perf_counter()
    started.refresh(number)
    besides_s, waits = time.perf_counter() - began, waits_of()
    started.call.run()
    started.call.outputs()
    besides_s += longest_wait(waits, waits_of())
    if is_of_device:
        began = time.perf_counter()
        started.call.outputs()
        besides_s += 2 * (time.perf_counter() - began)
    return besides_s


def take_sample(
    life: Life,
    number: int,
    min_seconds: float,
    *,
    is_verified: bool = False,
    graphs: bool = False,
    energy_s: float = 0.0,
) -> TimedSample:
    """Take new inputs, poison outputs, then call again and again until at least `min_seconds` have passed.

    `number` says which inputs, see `ChangingInputs.refresh`; of those that are verified the right output is
    known.  `graphs` are as in `BoundCall.sample_graphs`.  Energy is counted over `energy_s` of further calls.
    """
    began, started = time.perf_counter(), life.kept(StartedCase)
    if is_verified:
        started.give_verified_inputs(number)
    else:
        started.refresh(number)
    call, besides_s = started.call, time.perf_counter() - began
    sample = (call.sample_graphs if graphs else call.sample)(min_seconds)
    if not (math.isfinite(sample.seconds) and sample.seconds > 0 and sample.calls > 0):
        raise ValueError(f"found a sample of {sample.calls} calls, {sample.seconds} s each")
    if energy_s:
        device = sample.device.model_copy(update={"energy_j": call.energy(energy_s)})
        sample = replace(sample, device=device)
    began = time.perf_counter()
    verdict = started.verdict(number) if is_verified else None
    return TimedSample(sample, besides_s + time.perf_counter() - began, verdict)

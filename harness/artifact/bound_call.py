"""Built code that is loaded and called: executables, and calls of them bound to inputs."""

import copy
import time
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from harness.artifact.device_facts import DeviceFacts, DriverMetrics
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import Inputs
from harness.problem.outputs import OUTPUT, OUTPUTS


@dataclass(frozen=True)
class Sample:
    """One timing sample: calls one after another."""

    seconds: float
    """Mean time of one call."""
    calls: int
    device: DeviceFacts = field(default_factory=DeviceFacts)
    """What a device tells besides."""
    throttled: str | None = None
    """Why the device was slowed down meanwhile, so that the sample says nothing of the code."""


class BoundCall(ABC):
    """An executable bound to concrete inputs: what the checker and the timer call.

    It is for one thread at a time.
    """

    @abstractmethod
    def poison(self) -> None:
        """Fill outputs and scratch memory with NaN, so that what is never written is seen."""

    def poison_outputs(self) -> None:
        """Fill outputs with NaN, before each sample of a timing; by default scratch memory, too."""
        self.poison()

    def take_inputs(self, inputs: Inputs) -> bool:
        """Take another Q, K and V, or other tokens, of the same shapes.

        They are copied to the arrays that it is bound to, where it has not made copies of these.  The other
        inputs are the same arrays, with what was in them when they were bound.  Nothing is computed of inputs
        before the next run.  By default nothing is done and False returned: the executable is bound anew.
        """
        return False

    @abstractmethod
    def run(self) -> None:
        """Compute once and wait for the result; this is what is timed."""

    @abstractmethod
    def output(self) -> np.ndarray:
        """Return the output of the last run, in the problem's output shape and dtype."""

    def outputs(self) -> dict[str, np.ndarray]:
        """Return all outputs of the last run by name, see `harness.problem.outputs`: by default the one."""
        return {OUTPUT: self.output()}

    def last_outputs(self) -> dict[str, np.ndarray]:
        """Return all outputs of the last run, which nobody else changes: the call is not used any more.

        By default they are copies; a call that has arrays of its own may give these.
        """
        return copy.deepcopy(self.outputs())

    def sample(self, min_seconds: float) -> Sample:
        """Run again and again until at least `min_seconds` have passed, by the clock of this process."""
        calls = 0
        start = time.perf_counter()
        elapsed = 0.0
        while calls == 0 or elapsed < min_seconds:
            self.run()
            calls += 1
            elapsed = time.perf_counter() - start
        return Sample(seconds=elapsed / calls, calls=calls)

    def sample_graphs(self, min_seconds: float) -> Sample:
        """As `sample`, with calls that a device takes as one graph; by default they are taken one by one."""
        return self.sample(min_seconds)

    def energy(self, seconds: float) -> float | None:
        """Return the energy in J that a device takes for a call, over calls in a row; None by default."""
        return None


class Executable(ABC):
    """Code loaded into this process, ready to be called any number of times."""

    problem: AttentionProblem

    def of_lengths(self, problem: AttentionProblem) -> Self:
        """Return this code, loaded once, for a problem of its capacity (`harness.problem.capacity`)."""
        other = copy.copy(self)
        other.problem = problem
        return other

    @abstractmethod
    def bind(self, inputs: Inputs) -> BoundCall:
        """Prepare a call: convert inputs, allocate output and workspace."""

    def turn(self) -> AbstractContextManager[object]:
        """Return what a thread is in while it binds or calls, where this process may have several.

        Code whose runtime keeps something for the whole process waits here until other threads are done, and
        sets for the thread what it needs.  Who is in a turn may begin another one.  By default nothing is
        done: calls that were bound apart run at the same time.
        """
        return nullcontext()

    def take_process(self) -> None:
        """Set a process up for what is timed: a worker's, which does nothing else; by default nothing."""
        return

    def driver_metrics(self) -> DriverMetrics:
        """Return what the device's driver says of the code that it has loaded; by default nothing."""
        return DriverMetrics()

    def __call__(
        self,
        q: np.ndarray,
        k: np.ndarray,
        v: np.ndarray,
        **operands: Any,
    ) -> Any:
        """Compute attention of q, k and v (shapes and dtype of the problem it was built for)."""
        with self.turn():
            call = self.bind(Inputs(q=q, k=k, v=v, **operands))
            call.run()
            outputs_by_name = call.last_outputs()
        outputs = tuple(outputs_by_name[name] for name in OUTPUTS if name in outputs_by_name)
        return outputs[0] if len(outputs) == 1 else outputs

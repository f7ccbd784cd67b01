"""Variants that look fast and are not: each is right whenever it is checked, and none may get a time."""

import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from attention_example.variant import NumpyAttention, NumpyCall, NumpyExecutable
from harness.artifact.artifact import Artifact
from harness.artifact.bound_call import Sample
from harness.artifact.device_facts import DeviceFacts
from harness.digest import digest_of_array
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import Inputs

SLOWNESS_OF_CLOCK = 50
CALLS_OF_ONE = 8
"""One call of so many computes, of `computes-now-and-then`."""
SECONDS_OF_A_CALL = 0.0006
"""Of `remembers` and `keeps-probabilities`, at least, when they compute: less than a sample lasts, so that
other calls follow in it."""


class Cheating(NumpyAttention):
    """Loads calls of the variant's own class."""

    loader = "attention_example.cheating:load"


class BoundAnew(NumpyCall):
    """A call with copies of its inputs, which is bound anew to other ones."""

    def __init__(self, problem: AttentionProblem, inputs: Inputs, block: int) -> None:
        copies = replace(inputs, q=inputs.q.copy(), k=inputs.k.copy(), v=inputs.v.copy())
        super().__init__(problem, copies, block)

    def take_inputs(self, inputs: Inputs) -> bool:
        """Ask for another call."""
        return False


class Caches(Cheating):
    """Computes once, and hands out the same output from then on."""

    name = "caches"

    class Call(NumpyCall):
        """Keeps the output of the first run."""

        kept: np.ndarray | None = None

        def run(self) -> None:
            """Compute once."""
            if self.kept is None:
                super().run()
                self.kept = self.result.copy()
            self.result[...] = self.kept


class ReturnsEarly(Cheating):
    """Returns when a thread has been told to compute; who reads the output waits."""

    name = "returns-early"

    class Call(NumpyCall):
        """Computes in the background."""

        pool: ClassVar[ThreadPoolExecutor] = ThreadPoolExecutor(1)
        pending: Future[None] | None = None

        def poison(self) -> None:
            """Wait, then fill the output with NaN."""
            self.wait()
            super().poison()

        def run(self) -> None:
            """Let another thread compute."""
            self.pending = self.pool.submit(super().run)

        def output(self) -> np.ndarray:
            """Wait, and return the output."""
            self.wait()
            return super().output()

        def wait(self) -> None:
            """Wait for the last run."""
            if self.pending is not None:
                self.pending.result()


class PatchesTimer(Cheating):
    """Lets the clock of its process go slowly."""

    name = "patches-timer"

    class Call(NumpyCall):
        """Changes the clock when it first runs."""

        clock = staticmethod(time.perf_counter)

        def run(self) -> None:
            """Compute."""
            time.perf_counter = slow_clock
            super().run()


class ShortensSamples(Cheating):
    """Says that a call takes no time worth speaking of."""

    name = "shortens-samples"

    class Call(NumpyCall):
        """Takes samples of its own."""

        def sample(self, min_seconds: float) -> Sample:
            """Compute once, and say that it was nothing."""
            self.run()
            return Sample(seconds=1e-6, calls=1)


class SaysMilliseconds(Cheating):
    """Says milliseconds where seconds are asked for, as the events of a device do."""

    name = "says-milliseconds"

    class Call(NumpyCall):
        """Takes samples of its own."""

        def sample(self, min_seconds: float) -> Sample:
            """Say a thousand times what a call takes."""
            taken = super().sample(min_seconds)
            return Sample(seconds=taken.seconds * 1e3, calls=taken.calls)


class SaysTotals(Cheating):
    """Says the time of all calls where that of one is asked for."""

    name = "says-totals"

    class Call(NumpyCall):
        """Takes samples of its own."""

        def sample(self, min_seconds: float) -> Sample:
            """Say what all calls take."""
            taken = super().sample(min_seconds)
            return Sample(seconds=taken.seconds * taken.calls, calls=taken.calls)


class ComputesWhenGiven(Cheating):
    """Computes when it is given inputs; a call copies the output."""

    name = "computes-when-given"

    class Call(NumpyCall):
        """Keeps the output of the inputs that it was given last."""

        kept: np.ndarray | None = None

        def take_inputs(self, inputs) -> bool:  # type: ignore[no-untyped-def]
            """Compute them."""
            taken = super().take_inputs(inputs)
            super().run()
            self.kept = self.result.copy()
            return taken

        def run(self) -> None:
            """Compute only what was never given."""
            if self.kept is None:
                super().run()
            else:
                self.result[...] = self.kept


class ComputesWhenPoisoned(Cheating):
    """Computes when its output is poisoned; a call copies the output."""

    name = "computes-when-poisoned"

    class Call(NumpyCall):
        """Keeps the output of its inputs."""

        kept: np.ndarray | None = None

        def poison(self) -> None:
            """Compute, then fill the output with NaN."""
            super().run()
            self.kept = self.result.copy()
            super().poison()

        def run(self) -> None:
            """Compute only what was never poisoned."""
            if self.kept is None:
                super().run()
            else:
                self.result[...] = self.kept


class ComputesNowAndThen(Cheating):
    """Computes in one call out of some: in the others the output is there already."""

    name = "computes-now-and-then"

    class Call(NumpyCall):
        """Counts calls since its output was poisoned, or it was given inputs."""

        calls = 0

        def take_inputs(self, inputs: Inputs) -> bool:
            """Take them: they must be computed in the next call."""
            self.calls = 0
            return super().take_inputs(inputs)

        def poison(self) -> None:
            """Fill the output with NaN: it must be computed in the next call."""
            super().poison()
            self.calls = 0

        def run(self) -> None:
            """Compute now and then."""
            if self.calls % CALLS_OF_ONE == 0:
                super().run()
            self.calls += 1


class CallsItLaunching(Cheating):
    """Says that most of its time is that of a launch, as only a device can tell."""

    name = "calls-it-launching"

    class Call(NumpyCall):
        """Takes honest samples and splits them."""

        def sample(self, min_seconds: float) -> Sample:
            """Say that a tenth was computing."""
            taken = super().sample(min_seconds)
            return Sample(
                seconds=taken.seconds / 10,
                calls=taken.calls,
                device=DeviceFacts(launch_s=0.9 * taken.seconds),
            )


class KeepsProbabilities(Cheating):
    """Keeps the softmax of Q and K, which is the same where both have the other sign."""

    name = "keeps-probabilities"

    class Call(NumpyCall):
        """Knows probabilities by the first row of scores of each head."""

        kept: ClassVar[dict[str, np.ndarray]] = {}

        def run(self) -> None:
            """Compute probabilities that were not there before, and always their product with V."""
            q, k, v = self.inputs.q, self.inputs.k, self.inputs.v
            key = digest_of_array(q[0, :, :1] @ k[0].swapaxes(-1, -2))
            if key not in self.kept:
                end = time.perf_counter() + SECONDS_OF_A_CALL
                scores = self.problem.scale * (q @ k.swapaxes(-1, -2))
                weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
                self.kept[key] = weights / weights.sum(axis=-1, keepdims=True)
                while time.perf_counter() < end:
                    pass
            np.matmul(self.kept[key], v, out=self.result)


class ComputesWhenRead(Cheating):
    """Leaves the product with V to whoever reads the output."""

    name = "computes-when-read"

    class Call(NumpyCall):
        """Keeps probabilities, each time those of the last call."""

        weights: np.ndarray | None = None

        def run(self) -> None:
            """Compute probabilities."""
            scores = self.problem.scale * (self.inputs.q @ self.inputs.k.swapaxes(-1, -2))
            weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
            self.weights = weights / weights.sum(axis=-1, keepdims=True)

        def output(self) -> np.ndarray:
            """Compute their product with V."""
            return np.matmul(self.weights, self.inputs.v)


class CombinesWhenRead(Cheating):
    """Divides by the sums of rows when its output is read, into the same memory each time."""

    name = "combines-when-read"

    class Call(NumpyCall):
        """Keeps what it has added up, apart from the output."""

        added_up: np.ndarray | None = None

        def run(self) -> None:
            """Compute, and leave a factor to be divided by."""
            super().run()
            self.added_up = 2 * self.result

        def output(self) -> np.ndarray:
            """Divide row by row."""
            assert self.added_up is not None
            for row in np.ndindex(self.result.shape[:-1]):
                np.divide(self.added_up[row], 2, out=self.result[row])
            return self.result


class ComputesWhenReadFirst(Cheating):
    """Evaluates when its output is read, once, and keeps that, as lazy frameworks do."""

    name = "computes-when-read-first"

    class Call(BoundAnew):
        """Has half of the output pending."""

        pending = False

        def run(self) -> None:
            """Compute half of it, and note that the other half is to be done."""
            scores = self.problem.scale * (self.inputs.q @ self.inputs.k.swapaxes(-1, -2))
            self.scores = np.ascontiguousarray(scores)
            self.pending = True

        def output(self) -> np.ndarray:
            """Compute what is pending."""
            if self.pending:
                weights = np.exp(self.scores - self.scores.max(axis=-1, keepdims=True))
                np.matmul(weights / weights.sum(axis=-1, keepdims=True), self.inputs.v, out=self.result)
                self.pending = False
            return self.result


class ReadsSlowly(Cheating):
    """Leaves all to whoever reads the output, with inputs of its own."""

    name = "reads-slowly"

    class Call(BoundAnew):
        """Computes whenever its output is read."""

        def run(self) -> None:
            """Do nothing yet."""

        def output(self) -> np.ndarray:
            """Compute."""
            super().run()
            return self.result


true_clock = time.perf_counter
CALLS: dict[str, type[NumpyCall]] = {
    variant.name: variant.Call
    for variant in (
        Caches,
        ReturnsEarly,
        PatchesTimer,
        ShortensSamples,
        SaysMilliseconds,
        SaysTotals,
        ComputesWhenGiven,
        ComputesWhenPoisoned,
        ComputesNowAndThen,
        CallsItLaunching,
        KeepsProbabilities,
        ComputesWhenRead,
        CombinesWhenRead,
        ComputesWhenReadFirst,
        ReadsSlowly,
    )
}


def slow_clock() -> float:
    """Return a time that goes by slowly."""
    return true_clock() / SLOWNESS_OF_CLOCK


def load(artifact: Artifact, folder: Path) -> NumpyExecutable:
    """Load a built artifact."""
    executable = NumpyExecutable(artifact)
    executable.call = CALLS[artifact.case.variant]
    return executable

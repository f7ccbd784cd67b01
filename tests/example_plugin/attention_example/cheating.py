"""Variants that look fast and are not: each is right whenever it is checked, and none may get a time."""

import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar

import numpy as np

from attention_example.variant import NumpyAttention, NumpyCall, NumpyExecutable
from harness.artifact.artifact import Artifact
from harness.artifact.bound_call import Sample
from harness.digest import digest_of_array

SLOWNESS_OF_CLOCK = 10
SECONDS_OF_A_CALL = 0.0006
"""Of `remembers`, at least, when it computes: less than a sample lasts, so that others follow in it."""


class Cheating(NumpyAttention):
    """Loads calls of the variant's own class."""

    loader = "attention_example.cheating:load"


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


class Remembers(Cheating):
    """Computes once for the same inputs, and knows them again."""

    name = "remembers"

    class Call(NumpyCall):
        """Keeps outputs by the contents of Q, K and V, which it looks at when it is given them."""

        kept: ClassVar[dict[str, np.ndarray]] = {}
        looked_at: object = None
        digest = ""

        def take_inputs(self, inputs) -> bool:  # type: ignore[no-untyped-def]
            """Note that there are others, to be looked at when it runs."""
            self.looked_at = None
            return super().take_inputs(inputs)

        def run(self) -> None:
            """Compute what has not been computed before."""
            if self.looked_at is not self.inputs:
                inputs = self.looked_at = self.inputs
                self.digest = "".join(map(digest_of_array, (inputs.q, inputs.k, inputs.v)))
            if self.digest not in self.kept:
                end = time.perf_counter() + SECONDS_OF_A_CALL
                super().run()
                while time.perf_counter() < end:
                    pass
                self.kept[self.digest] = self.result.copy()
            self.result[...] = self.kept[self.digest]


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


true_clock = time.perf_counter
CALLS: dict[str, type[NumpyCall]] = {
    variant.name: variant.Call for variant in (Caches, Remembers, ReturnsEarly, PatchesTimer, ShortensSamples)
}


def slow_clock() -> float:
    """Return a time that goes by slowly."""
    return true_clock() / SLOWNESS_OF_CLOCK


def load(artifact: Artifact, folder: Path) -> NumpyExecutable:
    """Load a built artifact."""
    executable = NumpyExecutable(artifact)
    executable.call = CALLS[artifact.case.variant]
    return executable

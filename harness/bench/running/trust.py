"""Whether what a worker says of its calls agrees with the clock of this process.

A worker times its calls itself, to the microsecond, and runs code that nobody here has read.  Code that
returns before it is done, hands out what it has computed before, or reads a clock wrongly would look fast.
Three things show it: what a sample leaves is compared with the oracle in each start; the time of a whole
sample is the same by both clocks; and a first call on new inputs, until its output is read, takes about as
long as others.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from harness.bench.workers.process import WorkerFailure
from harness.system.status import Status

AGREEMENT = 1.5
"""What a worker says and what this process's clock says may differ by this factor."""
SLACK_S = 0.5e-3
"""And by so much more: requests wait for their turn, and a first call finds nothing in the caches."""


@dataclass(frozen=True)
class Trial:
    """Calls by both clocks, in seconds of all of them."""

    what: str
    claimed_s: float
    passed_s: float
    may_take_longer: bool = False
    """Whether more may pass than is claimed: on a device caches are emptied before each call."""
    may_take_less: bool = False
    """Whether less may pass: a first call finds what its inputs left in the caches."""

    @property
    def disagreement(self) -> str | None:
        """Why the claim is not to be trusted, or None."""
        claimed, passed = f"{self.claimed_s * 1e3:.3g} ms", f"{self.passed_s * 1e3:.3g} ms"
        if not self.may_take_less and self.claimed_s > AGREEMENT * self.passed_s + SLACK_S:
            return f"{self.what} says {claimed}, and {passed} have passed meanwhile"
        if not self.may_take_longer and self.passed_s > AGREEMENT * self.claimed_s + SLACK_S:
            return f"{self.what} takes {passed}, and {claimed} by the worker's own clock"
        return None


def require_agreement(trials: Iterable[Trial]) -> None:
    """Raise `WorkerFailure` unless one of some trials agrees: whatever disturbs makes others longer."""
    disagreement: str | None = None
    for trial in trials:
        disagreement = trial.disagreement
        if disagreement is None:
            return
    if disagreement is not None:
        raise WorkerFailure(Status.WRONG, f"the time is not to be trusted: {disagreement}")

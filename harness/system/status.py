"""What became of a case."""

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum

from harness.system.plurals import counted


class Status(StrEnum):
    """Outcome of a case; a time may stand only on a `passed` row."""

    PASSED = "passed"
    """Checked against the oracle on the CPU or on a real device."""
    EMULATED = "emulated"
    """Checked against the oracle in the place of a device: on the emulator, whose own checks found nothing,
    or on the processor."""
    BUILT = "built"
    """Compiled; there is nothing here to run it on."""
    WRONG = "wrong"
    """Ran, and the output is outside the tolerance, or the emulator's checks found mistakes in the code."""
    UNSUPPORTED = "unsupported"
    """The variant or the target cannot do it; `reason` says why."""
    BUILD_FAILED = "build-failed"
    CRASHED = "crashed"
    TIMED_OUT = "timed-out"
    OUT_OF_MEMORY = "out-of-memory"

    @property
    def is_failure(self) -> bool:
        """Whether `harness check` must exit with 1 because of this case."""
        return self in FAILURES

    @property
    def ends_early(self) -> bool:
        """Whether a case came to its end before it was built, or was checked and not accepted."""
        return self.is_failure or self is Status.UNSUPPORTED

    @property
    def is_checked(self) -> bool:
        """Whether the output was compared with the oracle and accepted."""
        return self in (Status.PASSED, Status.EMULATED)


FAILURES = frozenset(
    {Status.WRONG, Status.BUILD_FAILED, Status.CRASHED, Status.TIMED_OUT, Status.OUT_OF_MEMORY}
)


def checked_line(statuses: Sequence[Status], not_run: int = 0) -> str:
    """Return how many cases were compared with the oracle, and what became of the others."""
    compared = [status for status in statuses if status.is_checked or status is Status.WRONG]
    line = f"{len(compared)} of {counted(len(statuses) + not_run, 'case')} checked"
    others = Counter(status.value for status in statuses if status not in compared)
    outcomes = Counter(status.value for status in compared) + others
    line += "".join(f", {count} {name}" for name, count in outcomes.items())
    if not not_run:
        return line
    return f"{len(statuses)} of {counted(len(statuses) + not_run, 'case')} ran: {line}"

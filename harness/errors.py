"""The errors a user can meet, and what each one means for the run.

An `InputError` ends the command with exit status 2 and its one line.  An `UnsupportedError` ends only
one case, whose row then carries the reason.
"""


class HarnessError(Exception):
    """Anything the harness raises on purpose; its message is one line a user can act on."""


class InputError(HarnessError):
    """Bad input: says which file and key (or argument), what was found, and what was expected.

    One line a mistake; the command line prints them all.
    """

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C ended a run; says how far it had come."""

    def __init__(self, finished: int, planned: int) -> None:
        super().__init__(f"{finished} of {planned} cases finished")


class StoppedError(HarnessError):
    """What a command raises for `RunInterrupted`, for the command line to say how to go on."""


class UnsupportedError(HarnessError):
    """A variant or target cannot do this problem, or lacks a package; the message is the reason."""


class BuildError(HarnessError):
    """A compiler refused the code that a variant generated; the message holds its diagnostics."""

"""Signals that ask a program to end: one of them ends it in an orderly way, however many come.

The workers end then, and the tables are written.  A signal that would interrupt this as well would leave rows
of cases that nothing is wrong with, or none of cases that were measured.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

AT_ONCE = 3
"""Signals after which the process ends at once, by the last of them."""

UNTOUCHED = (signal.SIG_DFL, signal.default_int_handler)
"""What handles a signal that nobody ignores (`nohup`) or handles in a way of his own."""


class Ending:
    """Whether a signal has asked to end."""

    def __init__(self) -> None:
        self.asked = False
        self._signals = 0
        self._is_ending = False

    def require_none(self) -> None:
        """Raise `KeyboardInterrupt` where a signal has asked to end, and whatever it interrupted went on."""
        if self.asked and not self._is_ending:
            raise KeyboardInterrupt

    def begin(self) -> None:
        """Let no signal interrupt what ends the work in an orderly way from here on, but the last one."""
        self._is_ending = True

    def ended(self) -> None:
        """Let signals interrupt again what comes after such an end."""
        self._is_ending = False

    def answer(self, number: int, frame: FrameType | None) -> None:
        """Ask to end, or end the process at once where that was asked for before."""
        self._signals += 1
        if self._signals >= AT_ONCE:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        if not self.asked:
            self.asked = True
            self.require_none()


_present: Ending | None = None


@contextmanager
def ended_by_signals() -> Iterator[Ending]:
    """Let the first of these signals raise `KeyboardInterrupt` in here, and the next ones wait.

    The third one ends the process at once.  A signal that is ignored, or that the caller handles, stays as it
    is; so do all outside the main thread, which alone can receive them.  Within another one this is the same
    end, up to that of the outermost.
    """
    global _present
    if threading.current_thread() is not threading.main_thread():
        yield Ending()
        return
    if _present is not None:
        yield _present
        return
    ending = _present = Ending()
    before = {number: signal.getsignal(number) for number in ENDING}
    taken = [number for number in ENDING if before[number] in UNTOUCHED]
    for number in taken:
        signal.signal(number, ending.answer)
    try:
        yield ending
    finally:
        _present = None
        for number in taken:
            signal.signal(number, before[number])

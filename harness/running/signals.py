"""Signals that ask a program to end: one of them ends it in an orderly way, however many come.

The workers end then, and the tables are written.  A signal that would interrupt this as well would leave rows
of cases that nothing is wrong with, or none of cases that were measured.
"""

import os
import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

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
        self._before: dict[int, Any] = {}

    def take(self, numbers: Iterable[int]) -> list[int]:
        """Answer these signals from now on, as far as nobody else does; return which."""
        taken = [number for number in numbers if signal.getsignal(number) in UNTOUCHED]
        for number in taken:
            self._before[number] = signal.getsignal(number)
            signal.signal(number, self._answer)
        return taken

    def give_back(self, numbers: Iterable[int]) -> None:
        """Let these signals do what they did before."""
        for number in numbers:
            signal.signal(number, self._before.pop(number))

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

    def _answer(self, number: int, frame: FrameType | None) -> None:
        self._signals += 1
        if self._signals >= AT_ONCE:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        if not self.asked:
            self.asked = True
            self.require_none()


_present: Ending | None = None


@contextmanager
def ended_by_signals(numbers: Iterable[int] = ENDING) -> Iterator[Ending]:
    """Let the first of these signals raise `KeyboardInterrupt` in here, and the next ones wait.

    The third one ends the process at once.  A signal that is ignored, or that the caller handles, stays as it
    is; so do all outside the main thread, which alone can receive them.  In here more signals can be taken
    in the same way: all of them ask for the same end, up to the end of the outermost.
    """
    global _present
    if threading.current_thread() is not threading.main_thread():
        yield Ending()
        return
    outer, ending = _present, _present or Ending()
    _present = ending
    taken = ending.take(numbers)
    try:
        yield ending
    finally:
        _present = outer
        if outer is None:
            ending.give_back(list(ending._before))
        elif not ending.asked:
            ending.give_back(taken)

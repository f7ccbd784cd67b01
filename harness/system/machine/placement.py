"""Where in memory arrays, stack and code lie, varied on purpose.

How an array lies to pages, caches and other arrays is worth percents, and an allocator always answers alike:
what one process has by chance, it has for all its life, and often the next one, too.  A process that is to be
measured asks for other addresses than the last one (Mytkowicz et al., *Producing wrong data without doing
anything obviously wrong*, 2009), so that chance is seen as the variation that it is.
"""

import math
import mmap
import random
from collections.abc import Callable
from contextlib import ExitStack

import numpy as np

from harness.system.machine.poison import poison

CACHE_LINE = 64
PAGE = 4096
MOST_BALLAST = 2**20
"""Bytes on the heap that lie before what a process allocates later."""

GUARD = 2**17
"""Bytes before and behind an input that hold nothing to be read: a tile beyond its end shows."""

MAPPINGS = 16
"""Mappings that stand in the way of the code that a process loads."""

MOST_PAGES = 4096
"""Pages of the largest of them."""

MOST_CALLS = 64
"""Calls by which the stacks of two processes may differ: some hundred bytes each, together several pages."""


class Placement:
    """Chooses where arrays begin; without `vary`, always at a cache line's first byte."""

    def __init__(self) -> None:
        self._random: random.Random | None = None
        self._ballast = bytearray()
        """Moves what is allocated after it."""

    def vary(self, seed: int) -> None:
        """Let arrays that are made from now on lie elsewhere."""
        self._random = random.Random(seed)
        self._ballast = bytearray(self._random.randrange(MOST_BALLAST))

    def empty(self, shape: tuple[int, ...], dtype: np.dtype, guard: int = 0) -> np.ndarray:
        """Return an uninitialised array that starts at a cache line, any of a page's where it varies.

        So many bytes before and behind it, of a `guard`, are NaN in its type.
        """
        offset = 0 if self._random is None else self._random.randrange(0, PAGE, CACHE_LINE)
        size = math.prod(shape) * dtype.itemsize
        raw = np.empty(size + CACHE_LINE + offset + 2 * guard, dtype=np.uint8)
        start = -(raw.ctypes.data + guard) % CACHE_LINE + offset + guard
        if guard:
            poison(raw[start - guard : start].view(dtype))
            poison(raw[start + size : start + size + guard].view(dtype))
        return raw[start : start + size].view(dtype).reshape(shape)

    def guarded(self, array: np.ndarray) -> np.ndarray:
        """Return a copy of an array between guards, so that what is read beyond its ends shows."""
        copy = self.empty(array.shape, array.dtype, GUARD)
        copy[...] = array
        return copy


placement = Placement()
"""Of this process."""


def elsewhere(work: Callable[[], None]) -> None:
    """Do `work` with its stack, and the code that it loads, at other addresses in each process.

    Processes that are forks of one another have the same addresses otherwise.  The system puts a mapping into
    the highest gap that holds it, so a single mapping in the way may fall into a gap that the code would not
    have taken.  Mappings of many sizes leave hardly a gap as it was.
    """
    chosen = random.SystemRandom()
    with ExitStack() as in_the_way:
        for _ in range(MAPPINGS):
            pages = int(MOST_PAGES ** chosen.random())
            in_the_way.enter_context(mmap.mmap(-1, PAGE * pages, prot=mmap.PROT_READ))
        _call_deeper(chosen.randrange(MOST_CALLS), work)


def _call_deeper(calls: int, work: Callable[[], None]) -> None:
    """Do `work` below so many more calls, through `map`, whose calls lie on the stack of the processor."""
    if calls == 0:
        work()
    else:
        next(map(_call_deeper, (calls - 1,), (work,)))

"""Where in memory arrays begin, varied on purpose.

How an array lies to pages, caches and other arrays is worth percents, and an allocator always answers alike:
what one process has by chance, it has for all its life, and often the next one, too.  A process that is to be
measured asks for other addresses than the last one (Mytkowicz et al., *Producing wrong data without doing
anything obviously wrong*, 2009), so that chance is seen as the variation that it is.
"""

import random

import numpy as np

CACHE_LINE = 64
PAGE = 4096
MOST_BALLAST = 2**20


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

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """Return an uninitialised array that starts at a cache line, any of a page's where it varies."""
        offset = 0 if self._random is None else self._random.randrange(0, PAGE, CACHE_LINE)
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        raw = np.empty(size + CACHE_LINE + offset, dtype=np.uint8)
        start = -raw.ctypes.data % CACHE_LINE + offset
        return raw[start : start + size].view(dtype).reshape(shape)

    def moved(self, array: np.ndarray) -> np.ndarray:
        """Return a copy of an array that lies elsewhere, the array itself where nothing varies."""
        if self._random is None:
            return array
        copy = self.empty(array.shape, array.dtype)
        copy[...] = array
        return copy


placement = Placement()
"""Of this process."""

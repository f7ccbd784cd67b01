"""How the warps of a workgroup share a matrix product: each computes a band of its rows."""

import math
from dataclasses import dataclass

from harness.errors import BuildError, UnsupportedError
from harness.layouts.layout import Layout, lane, tiled, vector, warp
from harness.layouts.matrix_instruction import MatrixInstruction
from harness.layouts.shared_memory_model import WIDEST_ACCESS_BYTES, SharedMemoryModel


@dataclass(frozen=True)
class WarpTiling:
    """A matrix instruction and the number of warps that execute it on bands of rows."""

    instruction: MatrixInstruction
    warps: int
    shared_memory: SharedMemoryModel | None = None
    """Through which tiles reach the warps; None where there is none."""

    @property
    def lanes(self) -> int:
        """Lanes of a warp."""
        return self.instruction.lanes

    @property
    def threads(self) -> int:
        """Threads of a workgroup."""
        return self.warps * self.lanes

    def result(self, rows: int, columns: int) -> Layout:
        """Return the layout of C, `rows`×`columns`, each warp with a band of rows."""
        return self._bands(self.instruction.c, rows, columns)

    def left(self, rows: int, depth: int) -> Layout:
        """Return the layout of A, `rows`×`depth`, each warp with the rows of its band."""
        return self._bands(self.instruction.a, rows, depth)

    def right(self, columns: int, depth: int) -> Layout:
        """Return the layout of B, `columns`×`depth`, which all warps hold whole."""
        fragment = self.instruction.b
        counts = (
            _fragments(columns, fragment.shape[0], "columns"),
            _fragments(depth, fragment.shape[1], "reduced elements"),
        )
        layout = tiled(fragment, counts)
        own = [dimension for dimension in layout.order if str(dimension) != "warp_row"]
        axes = tuple(tuple(dim for dim in axis if str(dim) != "warp_row") for axis in layout.axes)
        return Layout(axes, (warp("row", self.warps), *own))

    def copy(self, rows: int, columns: int, element_bytes: int) -> Layout:
        """Return how threads share the copy of a tile, `rows`×`columns`: the widest access each.

        Shared memory serves the lanes of a phase at a time.  Where they fill a part of a row, they are
        neighbours along it.  Else they lie in rows below each other, which padding keeps in different banks.
        """
        chunk = WIDEST_ACCESS_BYTES // element_bytes
        height = self.rows_copied_at_once(columns, element_bytes)
        down, along = lane("y", height), lane("x", self.lanes // height)
        lanes = (along, down) if height > self.lanes // self._lanes_at_a_time() else (down, along)
        inner = Layout(
            axes=((down,), (along, vector("x", chunk))),
            order=(*lanes, vector("x", chunk)),
        )
        return _banded(inner, rows, columns, self.warps)

    def can_copy(self, rows: int, columns: int, element_bytes: int) -> bool:
        """Return whether the threads can share the copy of a tile evenly, the widest access each."""
        if columns * element_bytes % WIDEST_ACCESS_BYTES:
            return False
        return rows % (self.warps * self.rows_copied_at_once(columns, element_bytes)) == 0

    def rows_copied_at_once(self, columns: int, element_bytes: int) -> int:
        """Return how many rows of a tile the lanes of a warp copy at once, the widest access each."""
        chunks = columns * element_bytes // WIDEST_ACCESS_BYTES
        at_a_time = self._lanes_at_a_time()
        is_whole = chunks % at_a_time == 0
        return self.lanes // math.gcd(chunks, self.lanes if is_whole else self.lanes // at_a_time)

    def _lanes_at_a_time(self) -> int:
        """Return how many lanes shared memory serves together when each has the widest access."""
        if self.shared_memory is None:
            raise BuildError("a copy to shared memory, which the device does not have")
        return len(self.shared_memory.lanes_at_a_time(WIDEST_ACCESS_BYTES)[0])

    def _bands(self, fragment: Layout, rows: int, columns: int) -> Layout:
        return _banded(fragment, rows, columns, self.warps)


def _banded(fragment: Layout, rows: int, columns: int, warps: int) -> Layout:
    counts = (
        _fragments(rows, fragment.shape[0] * warps, "rows"),
        _fragments(columns, fragment.shape[1], "columns"),
    )
    return tiled(fragment, counts, (warps, 1))


def _fragments(size: int, unit: int, what: str) -> int:
    if size % unit:
        raise UnsupportedError(f"a tile has {size} {what}; warps and instruction take multiples of {unit}")
    return size // unit

"""How the warps of a workgroup share a matrix product: each computes a band of its rows."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from harness.codegen.layouts.bank_conflicts import conflicts_of_accesses
from harness.codegen.layouts.layout import Layout, lane, tiled, vector, warp
from harness.codegen.layouts.matrix_instruction import MatrixInstruction
from harness.codegen.layouts.shared_memory_model import WIDEST_ACCESS_BYTES, SharedMemoryModel
from harness.system.errors import BuildError, TileSizeError

BLOCK = 4
"""Rows and columns of the blocks in which lanes transpose a tile."""
Candidate = TypeVar("Candidate")

LANES_DOWN = (4, 8, 16, 2, 1)
"""Lanes next to each other that may have blocks below each other in a tile that is transposed."""


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

    def copy(
        self,
        rows: int,
        columns: int,
        element_bytes: int,
        pitch: int | None = None,
        *,
        is_out: bool = False,
    ) -> Layout:
        """Return how threads share the copy of a tile, `rows`×`columns`: the widest access each.

        Shared memory serves the lanes of a phase at a time.  Where they fill a part of a row, they are
        neighbours along it.  Else they lie in rows below each other, which padding keeps in different banks.
        A tile that is written to shared memory, to rows `pitch` elements apart, or with `is_out` read from
        there, may be shared otherwise where that has fewer bank conflicts.
        """
        height = self.rows_copied_at_once(columns, element_bytes)
        usual = self._copy(height, rows, columns, element_bytes)
        if pitch is None or self.shared_memory is None:
            return usual
        heights = (height << doubled for doubled in range(1, (self.lanes // height).bit_length()))
        others = (
            self._copy(other, rows, columns, element_bytes)
            for other in heights
            if rows % (self.warps * other) == 0
        )
        banks = self.shared_memory.reads if is_out else self.shared_memory.writes
        return _least((usual, *others), lambda copy: conflicts_of_accesses(copy, pitch, element_bytes, banks))

    def _copy(self, height: int, rows: int, columns: int, element_bytes: int) -> Layout:
        chunk = WIDEST_ACCESS_BYTES // element_bytes
        down, along = lane("y", height), lane("x", self.lanes // height)
        lanes = (along, down) if height > self.lanes // self._lanes_at_a_time() else (down, along)
        inner = Layout(
            axes=((down,), (along, vector("x", chunk))),
            order=(*lanes, vector("x", chunk)),
        )
        return _banded(inner, rows, columns, self.warps)

    def can_transpose(self, rows: int, columns: int) -> bool:
        """Return whether the threads can share the copy of a tile evenly that is transposed on its way."""
        return bool(self._transposing_copies(rows, columns))

    def transposing_copy(
        self, rows: int, columns: int, element_bytes: int, pitch: int
    ) -> tuple[Layout, Layout]:
        """Return how threads share the copy of a tile that is transposed on its way: as read, as written.

        A lane has square blocks: it reads runs along the rows and writes runs along the columns, which then
        are rows, `pitch` elements apart.  Of the ways that there are, that with the fewest bank conflicts.
        Raises `BuildError` where blocks do not divide the tile evenly.
        """
        copies, memory = self._transposing_copies(rows, columns), self.shared_memory
        if not copies or memory is None:
            raise BuildError(f"{self.threads} threads cannot share a tile of {rows}×{columns} in blocks")
        return _least(
            copies,
            lambda copy: conflicts_of_accesses(copy[1].transposed(), pitch, element_bytes, memory.writes),
        )

    def _transposing_copies(self, rows: int, columns: int) -> list[tuple[Layout, Layout]]:
        """Return ways to share the copy: different numbers of neighbours that have blocks below each other.

        The others are neighbours along the rows: as few lanes as can be lie below each other, so that what
        they read together lies together.
        """
        copies = []
        for down in LANES_DOWN:
            for along in _halves(self.lanes // down):
                height = self.lanes // along * BLOCK
                if rows % (self.warps * height) == 0 and columns % (along * BLOCK) == 0:
                    further = self.lanes // along // down
                    read, written = (
                        _banded(_blocks(further, down, along, is_read), rows, columns, self.warps)
                        for is_read in (True, False)
                    )
                    copies.append((read, written))
                    break
        return copies

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
        return len(self.shared_memory.writes.lanes_at_a_time(WIDEST_ACCESS_BYTES)[0])

    def _bands(self, fragment: Layout, rows: int, columns: int) -> Layout:
        return _banded(fragment, rows, columns, self.warps)


def _least(candidates: Iterable[Candidate], extra: Callable[[Candidate], int]) -> Candidate:
    tried: list[tuple[int, Candidate]] = []
    for candidate in candidates:
        tried.append((extra(candidate), candidate))
        if tried[-1][0] == 0:
            break
    return min(tried, key=lambda passes_of: passes_of[0])[1]


def _halves(number: int) -> Iterator[int]:
    while number >= 1:
        yield number
        number //= 2


def _blocks(further: int, down: int, along: int, is_read: bool) -> Layout:
    lanes = lane("z", further), lane("y", along), lane("x", down)
    row, column = vector("y", BLOCK), vector("x", BLOCK)
    return Layout(
        axes=((lanes[0], lanes[2], row), (lanes[1], column)),
        order=(*lanes, *((row, column) if is_read else (column, row))),
    )


def _banded(fragment: Layout, rows: int, columns: int, warps: int) -> Layout:
    counts = (
        _fragments(rows, fragment.shape[0] * warps, "rows"),
        _fragments(columns, fragment.shape[1], "columns"),
    )
    return tiled(fragment, counts, (warps, 1))


def _fragments(size: int, unit: int, what: str) -> int:
    if size % unit:
        error = TileSizeError(f"a tile has {size} {what}; warps and instruction take multiples of {unit}")
        error.size = size
        raise error
    return size // unit

"""How large a tile of queries a warp takes, and what of it lies where: estimated before any code is there.

A warp with two bands of rows reads each operand B once for both.  But large tiles need more registers and
shared memory, and make fewer workgroups.
"""

from dataclasses import dataclass

from harness.problem.attention_problem import AttentionProblem
from harness.problem.dtypes import itemsize
from harness.targets.gpu.vendor import Multiprocessors, Vendor

MOST_BANDS = 2
"""Bands of rows, each as high as a matrix instruction, that a warp may have."""

SMALL_TILE_RATE = 0.87
"""Work in a time with one band of rows, relative to two: modelled for an A100, the mean of head_dim 64 and
128."""

OTHER_REGISTERS = 44
"""Of a lane, for addresses, row statistics and operands on their way."""

SPARE_REGISTERS = 18
"""By which an estimate may exceed what there is: so much finds room outside of the loop."""


@dataclass(frozen=True)
class WorkgroupTile:
    """The tile of a workgroup, and what is held where while it is computed."""

    problem: AttentionProblem
    vendor: Vendor
    queries: int
    keys: int
    warps: int
    parts: int = 1
    """In which the keys are gone over, each by a workgroup of its own."""
    sums_in_halves: bool = False
    """Whether the output is added up in f16."""
    is_packed: bool = False
    """Whether the rows are those of packed sequences; `problem` is then as one sequence."""

    @property
    def has_masked_loop(self) -> bool:
        """Whether tiles that a mask cuts have a loop of their own, besides that of whole tiles."""
        return self.problem.causal or self.is_packed

    @property
    def has_one_band(self) -> bool:
        """Whether a warp has no more rows than a matrix instruction."""
        return self.queries <= self.warps * self.vendor.matrix_instructions[self.problem.dtype].m

    @property
    def iterations(self) -> int:
        """Tiles of keys that the workgroup of the longest part goes over at most."""
        tiles = -(-self.problem.seq_kv // self.keys)
        return -(-tiles // self.parts)

    def registers(self, *, holds_query: bool) -> int:
        """Return about how many registers of 4 bytes a lane needs."""
        instruction = self.vendor.matrix_instructions[self.problem.dtype]
        rows_of_lane = self.queries / self.warps / instruction.lanes
        operand_words = self._element_words * instruction.a.replicas
        words = self.problem.head_dim_v / (2 if self.sums_in_halves else 1) + self.keys * (1 + operand_words)
        if holds_query:
            words += self.problem.head_dim * operand_words
        return (
            round(rows_of_lane * words) + OTHER_REGISTERS + self._replicated_words + self._words_on_their_way
        )

    @property
    def _element_words(self) -> float:
        return itemsize(self.problem.dtype) / 4 * self.vendor.matrix_instructions[self.problem.dtype].terms

    @property
    def _replicated_words(self) -> int:
        """Registers that one row of fragments of K takes beyond what it takes where lanes share it."""
        instruction = self.vendor.matrix_instructions[self.problem.dtype]
        elements = instruction.n * self.problem.head_dim / instruction.lanes
        return round(elements * self._element_words * (instruction.b.replicas - 1))

    @property
    def _words_on_their_way(self) -> int:
        """Registers of the next tiles of K and V, which a loop loads before its products, where it does."""
        staging = self.vendor.staging
        if staging is None or not staging.is_through_registers:
            return 0
        threads = self.warps * self.vendor.matrix_instructions[self.problem.dtype].lanes
        row_bytes = (self.problem.head_dim + self.problem.head_dim_v) * itemsize(self.problem.dtype)
        return round(self.keys * row_bytes / 4 / threads)

    @property
    def key_registers(self) -> int:
        """Registers of 4 bytes that a tile of K takes of a lane as a whole."""
        instruction = self.vendor.matrix_instructions[self.problem.dtype]
        words = self.keys * self.problem.head_dim * itemsize(self.problem.dtype) / 4
        return round(words / instruction.lanes)

    def shared_bytes(self, slots: int, *, keeps_query: bool) -> int:
        """Return how much shared memory the tiles need; Q and others share it where Q is not read again."""
        staging = self.vendor.staging
        if staging is None:
            return 0
        size = itemsize(self.problem.dtype)
        query_row = self.problem.head_dim * size + staging.padding_bytes
        other_rows = query_row + self.problem.head_dim_v * size + staging.padding_bytes
        query, others = self.queries * query_row, slots * self.keys * other_rows
        return query + others if keeps_query else max(query, others)

    def resident(self, slots: int, *, holds_query: bool) -> int:
        """Return how many such workgroups a multiprocessor holds; 1 where that is not known."""
        multiprocessors = self.vendor.multiprocessors
        if multiprocessors is None:
            return 1
        tiles = -(-self.problem.seq_q // self.queries)
        workgroups = self.problem.batch * self.problem.heads * tiles * self.parts
        return min(
            self._room(multiprocessors, slots, holds_query=holds_query),
            -(-workgroups // multiprocessors.count),
        )

    def _room(self, multiprocessors: Multiprocessors, slots: int, *, holds_query: bool) -> int:
        instruction = self.vendor.matrix_instructions[self.problem.dtype]
        registers = min(self.registers(holds_query=holds_query), multiprocessors.registers_of_lane)
        shared_bytes = self.shared_bytes(slots, keeps_query=not holds_query)
        return multiprocessors.resident(self.warps * instruction.lanes, registers, shared_bytes)

    def holds_query(self) -> bool:
        """Return whether Q finds room in registers beside the rest.

        With one band of rows the estimate may exceed what there is by the vendor's spare registers.
        """
        multiprocessors = self.vendor.multiprocessors
        if multiprocessors is None:
            return True
        spare = self.vendor.spare_registers if self.has_one_band else 0
        return self.registers(holds_query=True) <= multiprocessors.registers_of_lane + spare

    def fills_registers(self, *, holds_query: bool) -> bool:
        """Return whether a lane has fewer registers than it needs; no where that is not known."""
        multiprocessors = self.vendor.multiprocessors
        return (
            multiprocessors is not None
            and self.registers(holds_query=holds_query) > multiprocessors.registers_of_lane
        )

    def fits(self, workgroups: int) -> bool:
        """Return whether all but Q finds room in registers, and so many workgroups on a multiprocessor."""
        multiprocessors = self.vendor.multiprocessors
        if multiprocessors is None:
            return True
        most = multiprocessors.registers_of_lane + SPARE_REGISTERS
        return self.registers(holds_query=False) <= most and self.room() >= workgroups

    def room(self) -> int:
        """Return how many such workgroups with one slot a multiprocessor has room for; 1 if not known."""
        multiprocessors = self.vendor.multiprocessors
        return (
            1 if multiprocessors is None else self._room(multiprocessors, 1, holds_query=self.holds_query())
        )


def bands_of_warp(vendor: Vendor, problem: AttentionProblem, keys: int, warps: int) -> int:
    """Return how many bands of rows each of the warps takes: as many as promise the most work in a time."""
    multiprocessors = vendor.multiprocessors
    if multiprocessors is None:
        return 1
    rows = warps * vendor.matrix_instructions[problem.dtype].m
    best, most, least = 1, 0.0, 1
    for bands in range(1, MOST_BANDS + 1):
        tile = WorkgroupTile(problem, vendor, bands * rows, keys, warps)
        if bands == 1:
            least = min(multiprocessors.wanted_workgroups, max(1, tile.room()))
        elif not tile.fits(least):
            continue
        rate = SMALL_TILE_RATE if bands == 1 else 1.0
        promised = rate * busy_share(multiprocessors, problem, bands * rows)
        if promised > most:
            best, most = bands, promised
    return best


def busy_share(multiprocessors: Multiprocessors, problem: AttentionProblem, queries: int) -> float:
    """Return how much of the time multiprocessors work, when tiles are shared as equally as can be."""
    tiles = -(-problem.seq_q // queries)
    workgroups = problem.batch * problem.heads * tiles
    rounds = -(-workgroups // multiprocessors.count)
    return workgroups / (rounds * multiprocessors.count) * problem.seq_q / (tiles * queries)

"""A tile of an operand on its way through shared memory: where it lies there, how it is copied and read."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from mlir import ir
from mlir.dialects import affine, arith, gpu, scf, vector

from harness.codegen.ir.builder import index
from harness.codegen.ir.for_loop import ForLoop
from harness.codegen.layouts.analysis import wanted_operand
from harness.codegen.layouts.bank_conflicts import TileAccess, least_conflicting_pitch
from harness.codegen.layouts.constraints import is_vector
from harness.codegen.layouts.layout import Layout
from harness.codegen.layouts.warp_tiling import WarpTiling
from harness.codegen.layouts.workgroup_memory import is_body_of_workgroup, workgroup_buffer
from harness.system.errors import BuildError
from harness.targets.gpu.vendor import Staging

PITCH_BYTES = 8
"""Pitches that the bank model chooses from are multiples of this: pieces of 8 bytes stay aligned."""


@dataclass(frozen=True)
class Staged:
    """A read whose tile passes through shared memory."""

    staging: Staging
    tiling: WarpTiling
    read: ir.OpView
    loop: ir.OpView | None
    """The loop that it is read in; None for one that is read once."""

    @property
    def tile(self) -> ir.VectorType:
        """Type of the tile."""
        return self.read.results[0].type

    @property
    def is_cut_along_rows(self) -> bool:
        """Whether the tile has some of the columns of its buffer only."""
        return bool(self.tile.shape[-1] < self.read.operands[0].type.shape[-1])

    @property
    def is_read_by_columns(self) -> bool:
        """Whether a product adds up along the rows."""
        return any(map(_runs_down_rows, uses_in_products(self.read.results[0])))

    @cached_property
    def is_transposed(self) -> bool:
        """Whether the tile lies transposed in shared memory, so that lanes read what they add up at once."""
        is_wanted = self.staging.is_through_registers and self.is_read_by_columns
        return is_wanted and self.tiling.can_transpose(*self.tile.shape)

    @cached_property
    def pitch(self) -> int:
        """Elements from one row in shared memory to the next."""
        bits, staging = self.tile.element_type.width, self.staging
        if staging.is_through_registers:
            return self._least_conflicting_pitch()
        is_padded_for_columns = bits == 32 and self.is_read_by_columns
        padding = staging.column_padding_bytes if is_padded_for_columns else staging.padding_bytes
        return int(self.tile.shape[-1]) + padding * 8 // bits

    def bytes(self, slots: int) -> int:
        """Return how much memory so many tiles take."""
        return slots * self._rows * self.pitch * self.tile.element_type.width // 8

    def allocated(self, slots: int) -> ir.Value:
        """Return memory for so many tiles, whose rows are longer than the tile's."""
        return workgroup_buffer([slots, self._rows, self.pitch], self.tile.element_type, self.read)

    @property
    def _rows(self) -> int:
        return int(self.tile.shape[1 if self.is_transposed else 0])

    def copy_to(self, buffer: ir.Value, slot: ir.Value, iteration: ir.Value | None = None) -> None:
        """Emit a copy of the tile to a slot, which the lanes share; in a loop an iteration's."""
        self.store(self.load(iteration), buffer, slot)

    def load(self, iteration: ir.Value | None = None) -> ir.Value:
        """Emit a read of the tile, which the lanes share; in a loop an iteration's."""
        return self.load_from(self.place(iteration))

    def place(self, iteration: ir.Value | None = None) -> list[ir.Value]:
        """Return where the tile begins, in a loop an iteration's: emits what computes it."""
        indices = list(self.read.operands)[1:-1]
        if self.loop is None or iteration is None:
            return indices
        return ForLoop(self.loop).at_iteration(indices, iteration)

    def load_from(self, indices: Sequence[ir.Value]) -> ir.Value:
        """Emit a read of a tile that begins somewhere, which the lanes share."""
        copy = self.read.operation.clone()
        for number, at in enumerate(indices):
            copy.operands[1 + number] = at
        return copy.results[0]

    def store(self, tile: ir.Value, buffer: ir.Value, slot: ir.Value) -> None:
        """Emit a write of a tile that was loaded to a slot."""
        if self.is_transposed:
            tile = vector.transpose(_transposed_type(self.tile), tile, [1, 0])
        identity = ir.AffineMap.get_minor_identity(3, 2)
        vector.TransferWriteOp(
            None, tile, buffer, [slot, index(0), index(0)], identity, in_bounds=_in_bounds()
        )

    def read_from(self, buffer: ir.Value, slot: ir.Value) -> None:
        """Replace the read by one from shared memory, at the insertion point."""
        padding = list(self.read.operands)[-1]
        lying = _transposed_type(self.tile) if self.is_transposed else self.tile
        moved: ir.Value = vector.TransferReadOp(
            lying,
            buffer,
            [slot, index(0), index(0)],
            ir.AffineMap.get_minor_identity(3, 2),
            padding,
            _in_bounds(),
        ).result
        if self.is_transposed:
            moved = vector.transpose(self.tile, moved, [1, 0])
        self.read.results[0].replace_all_uses_with(moved)
        self.read.operation.erase()

    def _least_conflicting_pitch(self) -> int:
        """Return the pitch by the bank model, for how the tile is written and how its products read it."""
        memory = self.tiling.shared_memory
        if memory is None:
            raise BuildError("a tile in shared memory, which the device does not have")
        rows, columns = self.tile.shape
        size = self.tile.element_type.width // 8
        read = [
            wanted_operand(use.owner, use.operand_number, self.tiling)
            for use in uses_in_products(self.read.results[0])
        ]

        def written(pitch: int) -> Layout:
            if self.is_transposed:
                return self.tiling.transposing_copy(rows, columns, size, pitch)[1].transposed()
            return self.tiling.copy(rows, columns, size, pitch)

        if self.is_transposed:
            read = [layout.transposed() for layout in read]
        reads = [TileAccess(layout, memory.reads) for layout in read]
        return least_conflicting_pitch(
            lambda pitch: [TileAccess(written(pitch), memory.writes), *reads],
            rows if self.is_transposed else columns,
            size,
            PITCH_BYTES,
        )


def in_order(group: Sequence[Staged]) -> list[Staged]:
    """Return operands of one loop in the order in which it uses them."""
    return sorted(group, key=first_use)


def first_use(operand: Staged) -> int:
    """Return the position, in the block that reads an operand, of what uses it first."""
    return min(_positions(operand, operand.read.results[0].uses))


def last_use(operand: Staged) -> int:
    """Return the position, in the block that reads an operand, of the last product with it."""
    return max(_positions(operand, uses_in_products(operand.read.results[0])))


def _positions(operand: Staged, uses: Iterable[ir.OpOperand]) -> list[int]:
    """Return the positions, in the block that reads an operand, of the operations with these uses."""
    block = operand.read.operation.block
    positions = {operation.operation: number for number, operation in enumerate(block.operations)}
    return [positions[_within(use.owner.operation, block)] for use in uses]


def _within(operation: ir.Operation, block: ir.Block) -> ir.Operation:
    """Return what an operation stands in, itself included, directly in a block."""
    while operation.block != block:
        operation = operation.parent
    return operation


def uses_in_products(value: ir.Value) -> list[ir.OpOperand]:
    """Return where products take a value as an operand, as it is or masked; empty if others take it."""
    uses: list[ir.OpOperand] = []
    for use in value.uses:
        user = use.owner
        if user.name == "vector.contract" and use.operand_number < 2:
            uses.append(use)
            continue
        masked = uses_in_products(user.results[0]) if user.name == "arith.select" else []
        if not masked:
            return []
        uses += masked
    return uses


def wait_for_readers(operation: ir.OpView) -> None:
    """Let all warps arrive before memory is filled that some may still read, as this buffer or another.

    Where a workgroup has had no vectors yet, in the block that it begins with, it has read nothing.
    """
    block = operation.operation.block
    earlier = itertools.takewhile(lambda other: other.operation != operation.operation, block.operations)
    if not is_body_of_workgroup(block) or any(map(_has_vectors, earlier)):
        gpu.barrier()


def _has_vectors(operation: ir.OpView) -> bool:
    return bool(len(operation.regions)) or any(map(is_vector, operation.results))


def when(condition: ir.Value, build: Callable[[], None]) -> None:
    """Emit what is done only where a condition holds."""
    branch = scf.IfOp(condition)
    with ir.InsertionPoint(branch.then_block):
        build()
        scf.YieldOp([])


def is_before(iteration: ir.Value, end: ir.Value) -> ir.Value:
    """Return whether a loop still comes to an iteration."""
    return arith.cmpi(arith.CmpIPredicate.slt, iteration, end)


def slots_of(iteration: ir.Value, lower: ir.Value, step: ir.Value, count: int) -> tuple[ir.Value, ir.Value]:
    """Return the slot of this iteration and that of the next."""
    done, start, size = (ir.AffineSymbolExpr.get(number) for number in range(3))
    passed = ir.AffineExpr.get_floor_div(done - start, size)
    expressions = [ir.AffineExpr.get_mod(passed + offset, count) for offset in range(2)]
    values = [iteration, lower, step]
    slot, other = (
        affine.AffineApplyOp(ir.AffineMap.get(0, 3, [expression]), values).result
        for expression in expressions
    )
    return slot, other


def _transposed_type(tile: ir.VectorType) -> ir.VectorType:
    rows, columns = tile.shape
    return ir.VectorType.get([columns, rows], tile.element_type)


def _runs_down_rows(use: ir.OpOperand) -> bool:
    """Return whether a product adds up along the rows of an operand, as P·V does along the keys of V."""
    maps = ir.ArrayAttr(use.owner.attributes["indexing_maps"])
    first = ir.AffineMapAttr(maps[use.operand_number]).value.results[0]
    kinds = ir.ArrayAttr(use.owner.attributes["iterator_types"])
    return "reduction" in str(kinds[ir.AffineDimExpr(first).position])


def _in_bounds() -> ir.ArrayAttr:
    return ir.ArrayAttr.get([ir.BoolAttr.get(True)] * 2)

"""Tiles whose rows lie apart in memory are copied to rows that lie side by side, and copies are kept.

Rows of one head of packed tokens, or of a matrix's columns, lie a pitch apart: often a power of two, so that
they share few sets of a cache, and each on a page of its own.  A tile that further points of the grid read
again, as all tiles of queries of a sequence read its keys, is therefore copied (stage `promoted`), and the
copy is kept for them (stage `kept`).

A thread has a slot for each tile of such a tensor, and for each slot the place of the tile that it holds, as
a direct-mapped cache has a tag: what is kept needs no order of the grid's points.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import arith, bufferization, func, memref, scf

from harness.codegen.ir import builder as b
from harness.codegen.ir.constants import constant_index
from harness.codegen.ir.for_loop import ForLoop
from harness.codegen.ir.slices import kept_dimensions, mixed_values
from harness.codegen.ir.walk import functions_of, operations_within, producer_of
from harness.codegen.payloads.arguments import DIMENSIONS
from harness.targets.cpu.prefetches import prefetch_rows
from harness.targets.cpu.register_tiles import INNER_LOOP

PACKED_ROWS = "harness.packed_rows"
"""Marks the loop that copies a tile's rows, with the axis of the source that they lie along."""

ALIGNMENT = 64
"""Bytes: a cache line, at which each slot begins."""

MOST_BYTES = 2**24
"""Of what is kept of one tensor: where it is larger, tiles share slots."""

EMPTY = -1
"""The place of no tile."""

READ = "vector.transfer_read"


def pack_tiles_of_far_rows(module: ir.Module) -> None:
    """Copy tiles that further points of the grid read again, where their rows lie apart, in place."""
    for grid in _grids(module):
        for operation in list(operations_within(grid)):
            if operation.name == "tensor.extract_slice":
                axis = _axis_of_far_rows(operation)
                if axis is not None and _is_read_again(operation, axis, grid):
                    _copy_rows(operation.results[0], axis)


def keep_packed_tiles(module: ir.Module, longest_keys: int | None = None, *, prefetches: bool = True) -> None:
    """Keep copies of tiles for further points of the grid, in place; what a kernel allocates is a thread's.

    Points read no more keys in a row than `longest_keys`: few slots stay in a cache.  With `prefetches` loops
    that use a tile prefetch the next one.
    """
    for grid in _grids(module):
        slots: dict[tuple[ir.Value, int, ir.Type], _Slots] = {}
        for operation in list(operations_within(grid)):
            copy = _PackedTile.of(operation, grid) if PACKED_ROWS in operation.attributes else None
            if copy is not None:
                known = (copy.source, copy.axis, copy.tile.type)
                if known not in slots:
                    slots[known] = _Slots.before(grid, copy, _most_rows(copy, longest_keys))
                _keep(copy, slots[known], prefetches)


def _grids(module: ir.Module) -> Iterator[ir.OpView]:
    for function in functions_of(module):
        for operation in function.entry_block.operations:
            if operation.name == "scf.forall" and INNER_LOOP not in operation.attributes:
                yield operation


def _axis_of_far_rows(tile: ir.OpView) -> int | None:
    """Return the axis along which a tile's rows lie, if they lie apart in a tensor from memory."""
    source, result = tile.operands[0], tile.results[0]
    if not isinstance(source.owner, ir.Block) or not isinstance(source.owner.owner, func.FuncOp):
        return None
    rank = source.type.rank
    if result.type.rank != 2 or not source.type.has_static_shape or not result.type.has_static_shape:
        return None
    rows, columns = kept_dimensions(tile, result)
    pitch = math.prod(source.type.shape[rows + 1 :])
    return rows if columns == rank - 1 and pitch > result.type.shape[1] else None


def _is_read_again(tile: ir.OpView, axis: int, grid: ir.OpView) -> bool:
    """Whether other points of the grid read the same tile, and where else it lies is the same in a point."""
    points = list(grid.regions[0].blocks[0].arguments)
    seen: set[ir.Value] = set()
    for position, offset in enumerate(mixed_values(tile, "offsets")):
        if isinstance(offset, int):
            continue
        arguments = _arguments_behind(offset)
        if position != axis and any(argument.owner != grid.regions[0].blocks[0] for argument in arguments):
            return False
        seen |= arguments
    sizes = list(ir.DenseI64ArrayAttr(grid.attributes["staticUpperBound"]))
    return any(size > 1 and point not in seen for size, point in zip(sizes, points, strict=False))


def _arguments_behind(value: ir.Value) -> set[ir.Value]:
    """Return the arguments of blocks that a value is computed from."""
    found: set[ir.Value] = set()
    seen: set[ir.Value] = set()
    values = [value]
    while values:
        current = values.pop()
        if current in seen:
            continue
        seen.add(current)
        owner = producer_of(current)
        if owner is None:
            found.add(current)
        else:
            for operation in (owner, *operations_within(owner)):
                values.extend(operation.operands)
    return {argument for argument in found if not isinstance(argument.owner.owner, func.FuncOp)}


def _copy_rows(tile: ir.Value, axis: int) -> None:
    """Let all that uses a tile use a copy of it."""
    rows, width = tile.type.shape
    with ir.InsertionPoint.after(tile.owner), ir.Location.unknown():
        place = bufferization.AllocTensorOp(tile.type, []).result  # of its own: equal empty tensors are one
        loop = scf.ForOp(b.index(0), b.index(rows), b.index(1), [place])
        loop.attributes[PACKED_ROWS] = ir.IntegerAttr.get(ir.IndexType.get(), axis)
        position, (copied,) = [loop.induction_variable, 0], loop.inner_iter_args
        with ir.InsertionPoint(loop.body):
            row = b.slice_of(tile, position, [1, width])
            scf.YieldOp([b.insert(row, copied, position, [1, width])])
    tile.replace_all_uses_except(loop.results[0], ir.OpResult(row).owner.operation)


@dataclass(frozen=True)
class _PackedTile:
    """A tile that a loop copies from memory, row by row."""

    loop: ir.OpView
    read: ir.OpView
    tile: ir.Value
    """What it is copied to, an allocation."""
    axis: int

    @classmethod
    def of(cls, loop: ir.OpView, grid: ir.OpView) -> "_PackedTile | None":
        """Return what a marked loop copies, None where somebody changes the copy or the source."""
        read, write = (
            next(op for op in loop.regions[0].blocks[0].operations if op.name == name)
            for name in (READ, "vector.transfer_write")
        )
        axis = ir.IntegerAttr(loop.attributes[PACKED_ROWS]).value
        copy = cls(loop, read, write.operands[1], axis)
        source = copy.source.owner
        is_outside = isinstance(source, ir.Block) and source == grid.operation.block
        users = [use.owner for use in copy.tile.uses if use.owner != write]
        return copy if is_outside and all(user.name == READ for user in users) else None

    @property
    def source(self) -> ir.Value:
        """Where it is copied from."""
        return self.read.operands[0]

    @property
    def rows(self) -> int:
        """Rows of the tile."""
        return int(self.tile.type.shape[0])

    def start(self) -> list[ir.Value]:
        """Return the position of its first row in the source, computed at the insertion point."""
        loop = ForLoop(self.loop)
        indices = list(self.read.operands)[1 : 1 + self.source.type.rank]
        return loop.at_iteration(indices, loop.bounds[0])


def _most_rows(copy: _PackedTile, longest_keys: int | None) -> int:
    """Return how many rows of a tensor are read again at most before others are."""
    rows = int(copy.source.type.shape[copy.axis])
    function = copy.source.owner.owner
    names = ir.DictAttr(function.arg_attrs[ir.BlockArgument(copy.source).arg_number])[DIMENSIONS]
    if longest_keys is None or ir.StringAttr(names[copy.axis]).value != "key":
        return rows
    return min(rows, longest_keys + copy.rows)  # a sequence begins anywhere in a tile


@dataclass(frozen=True)
class _Slots:
    """Memory for tiles of one tensor, and which tile each slot holds."""

    memory: ir.Value
    places: ir.Value
    count: int
    bytes_each: int

    @classmethod
    def before(cls, grid: ir.OpView, copy: _PackedTile, most_rows: int) -> "_Slots":
        """Return empty slots, as many as tiles of so many rows, if that is not too much."""
        kind = copy.tile.type
        size = math.prod(kind.shape) * kind.element_type.width // 8
        size = -(-size // ALIGNMENT) * ALIGNMENT
        count = min(-(-most_rows // copy.rows), max(1, MOST_BYTES // size))
        byte, integer = (ir.IntegerType.get_signless(width) for width in (8, 64))
        with ir.InsertionPoint(grid), grid.location:
            memory = memref.AllocOp(ir.MemRefType.get([count * size], byte), [], [])
            places = memref.AllocOp(ir.MemRefType.get([count], integer), [], [])
            empty = arith.constant(integer, EMPTY)
            loop = scf.ForOp(b.index(0), b.index(count), b.index(1))
            with ir.InsertionPoint(loop.body):
                memref.StoreOp(empty, places.result, [loop.induction_variable])
                scf.YieldOp([])
        return cls(memory.result, places.result, count, size)


def _keep(copy: _PackedTile, slots: _Slots, prefetches: bool) -> None:
    """Let a tile's copy lie in its slot, and copy it only where that holds another tile."""
    strides, _ = copy.source.type.get_strides_and_offset()
    with ir.InsertionPoint(copy.loop), copy.loop.location:
        start = copy.start()
        place = b.affine_value(lambda *at: _sum_of_products(at, strides), *start)
        # A last tile may begin before a multiple of its rows, so as to end where the tensor ends.
        slot = b.affine_value(
            lambda row: ir.AffineExpr.get_mod(ir.AffineExpr.get_ceil_div(row, copy.rows), slots.count),
            start[copy.axis],
        )
        first_byte = b.affine_value(lambda number: number * slots.bytes_each, slot)
        kept = memref.ViewOp(copy.tile.type, slots.memory, first_byte, [])
        wanted = arith.index_cast(ir.IntegerType.get_signless(64), place)
        held = memref.LoadOp(slots.places, [slot])
        differs = arith.cmpi(arith.CmpIPredicate.ne, held.result, wanted)
        change = scf.IfOp(differs)
        with ir.InsertionPoint(change.then_block):
            store = memref.StoreOp(wanted, slots.places, [slot])
            scf.YieldOp([])
    copy.loop.operation.move_before(store)
    if prefetches:
        _prefetch_next(copy, start, differs)
    allocation = copy.tile.owner
    copy.tile.replace_all_uses_with(kept.result)
    allocation.erase()


def _sum_of_products(numbers: Sequence[ir.AffineExpr], factors: Sequence[int]) -> ir.AffineExpr:
    return sum(
        (number * factor for number, factor in zip(numbers, factors, strict=True)),
        start=ir.AffineConstantExpr.get(0),
    )


def _prefetch_next(copy: _PackedTile, start: list[ir.Value], is_new: ir.Value) -> None:
    """Prefetch the tile after one that was just copied, in the loops over rows that use it.

    Processors do not read ahead of rows that lie apart.  So many lines at once would wait for each other.
    """
    readers = {use.owner.operation.parent.parent for use in copy.tile.uses if use.owner.name == READ}
    for loop in readers:
        position, count = _passes(loop)
        if count is None or copy.rows % count:
            continue
        rows = copy.rows // count
        with ir.InsertionPoint.at_block_begin(loop.regions[0].blocks[0]), copy.loop.location:
            change = scf.IfOp(is_new)
            with ir.InsertionPoint(change.then_block):
                ahead = b.affine_value(
                    lambda first, number, rows=rows: first + copy.rows + number * rows,
                    start[copy.axis],
                    position(),
                )
                at = [ahead if axis == copy.axis else value for axis, value in enumerate(start)]
                prefetch_rows(copy.source, at, copy.axis, rows, copy.tile.type.shape[1])
                scf.YieldOp([])


def _passes(loop: ir.Operation) -> tuple[Callable[[], ir.Value], int | None]:
    """Return what computes the number of a loop's pass, and how many there are if that is known."""
    variable = loop.regions[0].blocks[0].arguments[0]
    if loop.name == "scf.forall":
        counts = list(ir.DenseI64ArrayAttr(loop.attributes["staticUpperBound"]))
        return (lambda: variable), counts[0] if len(counts) == 1 else None
    if loop.name != "scf.for":
        return (lambda: variable), None
    first, end, step = (constant_index(bound) for bound in ForLoop(loop).bounds)
    if first != 0 or end is None or step is None:
        return (lambda: variable), None
    return (lambda: b.affine_value(lambda at: ir.AffineExpr.get_floor_div(at, step), variable)), end // step

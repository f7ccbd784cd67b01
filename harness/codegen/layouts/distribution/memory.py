"""General rules for reads and writes: each lane accesses the elements that it holds, several at once.

What may lie out of bounds is read as the transfer's padding, and is not written.  Every access says how it is
aligned: without that, a compiler takes it apart into its elements.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import arith, memref, scf, vector

from harness.codegen.ir.transfers import FIRST_INDEX
from harness.codegen.layouts.alignment import TileAlignment
from harness.codegen.layouts.bank_conflicts import conflicts_of_accesses
from harness.codegen.layouts.constraints import in_shared_memory
from harness.codegen.layouts.contiguous_accesses import ContiguousAccess
from harness.codegen.layouts.distribution.addresses import TileAddresses
from harness.codegen.layouts.distribution.distributor import Distributor
from harness.codegen.layouts.distribution.lane_coordinates import index
from harness.codegen.layouts.distribution.lane_value import LaneValue, from_elements
from harness.codegen.layouts.distribution.transfers import (
    accesses_within,
    addresses_of,
    alignment_of,
    bytes_of,
    is_inside,
    offsets_of,
    open_axes,
    start_of,
)
from harness.codegen.layouts.formulas import replica
from harness.codegen.layouts.layout import Layout

WORD_BYTES = 4
CONVERSIONS = ("arith.extf", "arith.truncf", "arith.select", "builtin.unrealized_conversion_cast")


def distribute_read(distributor: Distributor, operation: ir.OpView) -> None:
    """Load what the lane holds."""
    (result,) = operation.results
    tile = _Tile.of(distributor, operation, distributor.layout(result), result.type.element_type)
    count_bank_conflicts(distributor, operation.operands[0], tile.layout, tile.element, is_write=False)
    _count_narrow_loads(distributor, operation, tile)
    padding = distributor.scalar(list(operation.operands)[-1])
    loaded: dict[tuple[int, int], ir.Value] = {}
    for access in tile.accesses():
        piece = _load(tile, access, padding)
        for offset in range(access.length):
            loaded[access.fragment, access.register + offset] = vector.extract(piece, [], [offset])
    distributor.define_fragments(
        result,
        [
            from_elements([loaded[fragment, register] for register in range(tile.layout.registers)])
            for fragment in range(tile.layout.fragments)
        ],
    )


def _count_narrow_loads(distributor: Distributor, read: ir.OpView, tile: "_Tile") -> None:
    """Add the loads that an iteration makes from global memory, for a product, of less than a word each."""
    is_in_loop = read.operation.parent.name == "scf.for"
    if is_in_loop and not in_shared_memory(read.operands[0]) and _feeds_product(read.results[0]):
        widths = [access.length * bytes_of(tile.element) for access in tile.accesses()]
        distributor.narrow_loads += sum(width < WORD_BYTES for width in widths)


def _feeds_product(value: ir.Value) -> bool:
    """Return whether a value is an operand of a product, or becomes one by conversions and masks alone."""
    return any(
        use.owner.name == "vector.contract"
        or (use.owner.name in CONVERSIONS and _feeds_product(use.owner.results[0]))
        for use in value.uses
    )


def distribute_write(distributor: Distributor, operation: ir.OpView) -> None:
    """Store what the lane holds; of lanes that hold the same elements, one does."""
    held = distributor.held(operation.operands[0])
    count_bank_conflicts(distributor, operation.operands[1], held.layout, held.element_type, is_write=True)
    if held.layout.replicas == 1:
        _store(distributor, operation, held)
        return
    number = distributor.coordinates.uniform(replica(held.layout))
    branch = scf.IfOp(arith.cmpi(arith.CmpIPredicate.eq, number, index(0)))
    with ir.InsertionPoint(branch.then_block):
        _store(distributor, operation, held)
        scf.YieldOp([])


def count_bank_conflicts(
    distributor: Distributor, source: ir.Value, layout: Layout, element: ir.Type, *, is_write: bool
) -> None:
    """Add the extra passes of accesses to a buffer of the source, if it is in shared memory."""
    memory = distributor.analysis.tiling.shared_memory
    if memory is not None and in_shared_memory(source):
        pitch = distributor.scalar(source).type.shape[-1]
        banks = memory.writes if is_write else memory.reads
        distributor.bank_conflicts += conflicts_of_accesses(layout, pitch, bytes_of(element), banks)


@dataclass(frozen=True)
class _Tile:
    """The elements that a transfer reads or writes, and what is known of where they lie."""

    layout: Layout
    element: ir.Type
    buffer: ir.Value
    open_axes: list[int]
    """Axes along which elements may be out of the buffer's bounds."""
    addresses: TileAddresses
    alignment: TileAlignment

    @classmethod
    def of(cls, distributor: Distributor, transfer: ir.OpView, layout: Layout, element: ir.Type) -> "_Tile":
        """Return the tile of a transfer."""
        first, axes = FIRST_INDEX[transfer.operation.name], open_axes(transfer)
        buffer = distributor.scalar(transfer.operands[first - 1])
        start = start_of(distributor, transfer, first, buffer)
        addresses = addresses_of(distributor, buffer, start, layout, are_compared=bool(axes))
        return cls(layout, element, buffer, axes, addresses, alignment_of(transfer, first, layout))

    def accesses(self) -> Iterator[ContiguousAccess]:
        """Yield a lane's accesses, each wholly within bounds or wholly beyond."""
        return accesses_within(self.layout, self.element, self.open_axes)

    def indices(self, access: ContiguousAccess) -> list[ir.Value]:
        """Return where an access begins."""
        return self.addresses.of(offsets_of(self.layout, access))

    def aligned_to(self, access: ContiguousAccess) -> int:
        """Return the bytes that an access begins at a multiple of."""
        return self.alignment.of(access, bytes_of(self.element))


def _load(tile: _Tile, access: ContiguousAccess, padding: ir.Value) -> ir.Value:
    kind, at = ir.VectorType.get([access.length], tile.element), tile.indices(access)
    alignment = tile.aligned_to(access)
    if not tile.open_axes:
        return vector.load(kind, tile.addresses.buffer, at, alignment=alignment)
    if access.length == 1:
        return from_elements([_load_one(tile, at, padding)])
    branch = scf.IfOp(is_inside(tile.buffer, at, tile.open_axes), [kind], has_else=True)
    with ir.InsertionPoint(branch.then_block):
        scf.YieldOp([vector.load(kind, tile.addresses.buffer, at, alignment=alignment)])
    with ir.InsertionPoint(branch.else_block):
        scf.YieldOp([vector.broadcast(kind, padding)])
    return branch.results[0]


def _load_one(tile: _Tile, at: list[ir.Value], padding: ir.Value) -> ir.Value:
    """Load one element, or the padding; no vector leaves the branches: some targets have none of size 1."""
    branch = scf.IfOp(is_inside(tile.buffer, at, tile.open_axes), [tile.element], has_else=True)
    with ir.InsertionPoint(branch.then_block):
        scf.YieldOp([memref.load(tile.addresses.buffer, at)])
    with ir.InsertionPoint(branch.else_block):
        scf.YieldOp([padding])
    return branch.results[0]


def _store(distributor: Distributor, operation: ir.OpView, held: LaneValue) -> None:
    tile = _Tile.of(distributor, operation, held.layout, held.element_type)
    for access in tile.accesses():
        elements = [
            held.element(access.fragment, access.register + offset) for offset in range(access.length)
        ]
        at, alignment = tile.indices(access), tile.aligned_to(access)
        if not tile.open_axes:
            vector.store(from_elements(elements), tile.addresses.buffer, at, alignment=alignment)
            continue
        branch = scf.IfOp(is_inside(tile.buffer, at, tile.open_axes))
        with ir.InsertionPoint(branch.then_block):
            vector.store(from_elements(elements), tile.addresses.buffer, at, alignment=alignment)
            scf.YieldOp([])

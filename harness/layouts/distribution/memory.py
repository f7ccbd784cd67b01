"""General rules for reads and writes: each lane accesses the elements that it holds, several at once.

What may lie out of bounds is read as the transfer's padding, and is not written.
"""

from mlir import ir
from mlir.dialects import arith, scf, vector

from harness.layouts.bank_conflicts import conflicts_of_accesses
from harness.layouts.constraints import in_shared_memory
from harness.layouts.distribution.addresses import TileAddresses
from harness.layouts.distribution.distributor import Distributor
from harness.layouts.distribution.lane_coordinates import index
from harness.layouts.distribution.lane_value import LaneValue, from_elements
from harness.layouts.distribution.transfers import (
    accesses_within,
    addresses_of,
    bytes_of,
    is_inside,
    offsets_of,
    open_axes,
    start_of,
)
from harness.layouts.formulas import replica
from harness.layouts.layout import Layout


def distribute_read(distributor: Distributor, operation: ir.OpView) -> None:
    """Load what the lane holds."""
    (result,) = operation.results
    buffer = distributor.scalar(operation.operands[0])
    start = start_of(distributor, operation, 1, buffer)
    layout, element = distributor.layout(result), result.type.element_type
    count_bank_conflicts(distributor, operation.operands[0], layout, element)
    axes = open_axes(operation)
    addresses = addresses_of(distributor, buffer, start, layout, are_compared=bool(axes))
    padding = distributor.scalar(list(operation.operands)[-1]) if axes else None
    loaded: dict[tuple[int, int], ir.Value] = {}
    for access in accesses_within(layout, element, axes):
        kind = ir.VectorType.get([access.length], element)
        piece = _load(kind, buffer, addresses, offsets_of(layout, access), axes, padding)
        for offset in range(access.length):
            loaded[access.fragment, access.register + offset] = vector.extract(piece, [], [offset])
    distributor.define_fragments(
        result,
        [
            from_elements([loaded[fragment, register] for register in range(layout.registers)])
            for fragment in range(layout.fragments)
        ],
    )


def distribute_write(distributor: Distributor, operation: ir.OpView) -> None:
    """Store what the lane holds; of lanes that hold the same elements, one does."""
    held = distributor.held(operation.operands[0])
    count_bank_conflicts(distributor, operation.operands[1], held.layout, held.element_type)
    if held.layout.replicas == 1:
        _store(distributor, operation, held)
        return
    number = distributor.coordinates.uniform(replica(held.layout))
    branch = scf.IfOp(arith.cmpi(arith.CmpIPredicate.eq, number, index(0)))
    with ir.InsertionPoint(branch.then_block):
        _store(distributor, operation, held)
        scf.YieldOp([])


def count_bank_conflicts(
    distributor: Distributor, source: ir.Value, layout: Layout, element: ir.Type
) -> None:
    """Add the extra passes of accesses to a buffer of the source, if it is in shared memory."""
    memory = distributor.analysis.tiling.shared_memory
    if memory is not None and in_shared_memory(source):
        pitch = distributor.scalar(source).type.shape[-1]
        distributor.bank_conflicts += conflicts_of_accesses(layout, pitch, bytes_of(element), memory)


def _load(
    kind: ir.VectorType,
    buffer: ir.Value,
    addresses: TileAddresses,
    offsets: list[int],
    axes: list[int],
    padding: ir.Value | None,
) -> ir.Value:
    """Load elements that follow each other; those out of bounds along the open axes are the padding."""
    at = addresses.of(offsets)
    if padding is None:
        return vector.load(kind, addresses.buffer, at)
    branch = scf.IfOp(is_inside(buffer, at, axes), [kind], has_else=True)
    with ir.InsertionPoint(branch.then_block):
        scf.YieldOp([vector.load(kind, addresses.buffer, at)])
    with ir.InsertionPoint(branch.else_block):
        scf.YieldOp([vector.broadcast(kind, padding)])
    return branch.results[0]


def _store(distributor: Distributor, operation: ir.OpView, held: LaneValue) -> None:
    """Store a lane's elements, those out of bounds left out."""
    buffer = distributor.scalar(operation.operands[1])
    start = start_of(distributor, operation, 2, buffer)
    axes = open_axes(operation)
    addresses = addresses_of(distributor, buffer, start, held.layout, are_compared=bool(axes))
    for access in accesses_within(held.layout, held.element_type, axes):
        elements = [
            held.element(access.fragment, access.register + offset) for offset in range(access.length)
        ]
        at = addresses.of(offsets_of(held.layout, access))
        if not axes:
            vector.store(from_elements(elements), addresses.buffer, at)
            continue
        branch = scf.IfOp(is_inside(buffer, at, axes))
        with ir.InsertionPoint(branch.then_block):
            vector.store(from_elements(elements), addresses.buffer, at)
            scf.YieldOp([])

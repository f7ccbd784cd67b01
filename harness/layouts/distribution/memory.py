"""Rules for reads and writes: each lane accesses the elements that it holds, several at once where it can."""

from mlir import ir
from mlir.dialects import arith, nvgpu, scf, vector

from harness.errors import BuildError
from harness.layouts.bank_conflicts import conflicts_of_accesses
from harness.layouts.constraints import in_shared_memory, is_copy
from harness.layouts.distribution.addresses import Coordinates, TileAddresses, tile_addresses
from harness.layouts.distribution.contiguous_accesses import Run, runs
from harness.layouts.distribution.distributor import Distributor
from harness.layouts.distribution.lane_coordinates import UNIFORM, index
from harness.layouts.distribution.lane_value import LaneValue, from_elements
from harness.layouts.distribution.ldmatrix import is_transposed
from harness.layouts.distribution.matrix_reads import distribute_matrix_read
from harness.layouts.distribution.offsets import constant_part
from harness.layouts.formulas import formula, replica
from harness.layouts.layout import Layout


def distribute_read(distributor: Distributor, operation: ir.OpView) -> None:
    """Load what the lane holds; what is only copied to shared memory is left to the copy."""
    (result,) = operation.results
    if all(use.owner.name == "vector.transfer_write" and is_copy(use.owner) for use in result.uses):
        return
    if _open_axes(operation):
        raise BuildError("a read that may go out of bounds cannot be distributed to lanes")
    buffer = distributor.scalar(operation.operands[0])
    indices = _indices(distributor, operation, 1, buffer)
    layout, element = distributor.layout(result), result.type.element_type
    transposed = is_transposed(layout, element.width) if in_shared_memory(operation.operands[0]) else None
    if transposed is not None:
        distribute_matrix_read(distributor, operation, indices, transposed)
        return
    if in_shared_memory(operation.operands[0]):
        distributor.bank_conflicts += conflicts_of_accesses(layout, buffer.type.shape[-1], _bytes(element))
    loaded: dict[tuple[int, int], ir.Value] = {}
    addresses = _addresses(distributor, buffer, indices, layout)
    for run in runs(layout, _bytes(element)):
        kind = ir.VectorType.get([run.length], element)
        piece = vector.load(kind, addresses.buffer, addresses.of(_offsets(layout, run)))
        for offset in range(run.length):
            loaded[run.fragment, run.register + offset] = vector.extract(piece, [], [offset])
    distributor.define_fragments(
        result,
        [
            from_elements([loaded[fragment, register] for register in range(layout.registers)])
            for fragment in range(layout.fragments)
        ],
    )


def distribute_write(distributor: Distributor, operation: ir.OpView) -> None:
    """Store what the lane holds; in shared memory only one of those that hold the same elements does."""
    if is_copy(operation):
        distribute_copy(distributor, operation)
        return
    held = distributor.held(operation.operands[0])
    if not in_shared_memory(operation.operands[1]):
        _store(distributor, operation, held)
        return
    buffer = distributor.scalar(operation.operands[1])
    bytes_ = _bytes(held.element_type)
    distributor.bank_conflicts += conflicts_of_accesses(held.layout, buffer.type.shape[-1], bytes_)
    if held.layout.replicas == 1:
        _store(distributor, operation, held)
        return
    number = distributor.places.uniform(replica(held.layout))
    branch = scf.IfOp(arith.cmpi(arith.CmpIPredicate.eq, number, index(0)))
    with ir.InsertionPoint(branch.then_block):
        _store(distributor, operation, held)
        scf.YieldOp([])


def _store(distributor: Distributor, operation: ir.OpView, held: LaneValue) -> None:
    """Store a lane's elements, those out of bounds left out."""
    buffer = distributor.scalar(operation.operands[1])
    indices = _indices(distributor, operation, 2, buffer)
    open_axes = _open_axes(operation)
    addresses = _addresses(distributor, buffer, indices, held.layout, are_compared=bool(open_axes))
    for run in runs(held.layout, _bytes(held.element_type)):
        elements = [held.element(run.fragment, run.register + offset) for offset in range(run.length)]
        at = addresses.of(_offsets(held.layout, run))
        if not open_axes:
            vector.store(from_elements(elements), addresses.buffer, at)
            continue
        branch = scf.IfOp(_is_inside(buffer, at, open_axes))
        with ir.InsertionPoint(branch.then_block):
            vector.store(from_elements(elements), addresses.buffer, at)
            scf.YieldOp([])


def distribute_copy(distributor: Distributor, operation: ir.OpView) -> None:
    """Copy a tile to shared memory without registers: each lane starts the transfer of its elements.

    Elements out of bounds are not read, and become zeros.
    """
    read = operation.operands[0].owner.opview
    layout = distributor.layout(operation.operands[0])
    source, target = distributor.scalar(read.operands[0]), distributor.scalar(operation.operands[1])
    source_indices = _indices(distributor, read, 1, source)
    target_indices = _indices(distributor, operation, 2, target)
    element_bytes = _bytes(read.results[0].type.element_type)
    distributor.bank_conflicts += conflicts_of_accesses(layout, target.type.shape[-1], element_bytes)
    open_axes = _open_axes(read)
    sources = _addresses(distributor, source, source_indices, layout, are_compared=bool(open_axes))
    targets = _addresses(distributor, target, target_indices, layout)
    for run in runs(layout, element_bytes):
        offsets = _offsets(layout, run)
        from_, count = sources.of(offsets), None
        if open_axes:
            count = arith.select(_is_inside(source, from_, open_axes), index(run.length), index(0))
            from_ = _inside(source, from_, open_axes)
        nvgpu.device_async_copy(
            targets.buffer,
            targets.of(offsets),
            sources.buffer,
            from_,
            run.length,
            src_elements=count,
            bypass_l1=True,
        )


def _open_axes(access: ir.OpView) -> list[int]:
    """Return the axes of a transfer's vector that may go out of bounds, counted from the last one, -1."""
    flags = [ir.BoolAttr(flag).value for flag in access.attributes.get("in_bounds", [])]
    return [axis - len(flags) for axis, is_inside in enumerate(flags) if not is_inside]


def _is_inside(buffer: ir.Value, indices: list[ir.Value], axes: list[int]) -> ir.Value:
    """Return whether an element exists, as far as these axes of its buffer are concerned."""
    conditions = [
        arith.cmpi(arith.CmpIPredicate.ult, indices[axis], index(buffer.type.shape[axis])) for axis in axes
    ]
    result = conditions[0]
    for condition in conditions[1:]:
        result = arith.andi(result, condition)
    return result


def _inside(buffer: ir.Value, indices: list[ir.Value], axes: list[int]) -> list[ir.Value]:
    """Return indices of an element that exists: those along these axes are cut."""
    cut = list(indices)
    for axis in axes:
        cut[axis] = arith.minui(indices[axis], index(buffer.type.shape[axis] - 1))
    return cut


def _indices(distributor: Distributor, access: ir.OpView, first: int, buffer: ir.Value) -> list[ir.Value]:
    """Return where a transfer starts; raises `BuildError` if it is transposed."""
    mapping = ir.AffineMapAttr(access.attributes["permutation_map"]).value
    rank = buffer.type.rank
    kept = [ir.AffineDimExpr.get(rank - len(mapping.results) + axis) for axis in range(len(mapping.results))]
    if list(mapping.results) != kept:
        raise BuildError(f"a transfer by {mapping} cannot be distributed to lanes")
    return distributor.scalars(list(access.operands)[first : first + rank])


def _addresses(
    distributor: Distributor,
    buffer: ir.Value,
    indices: list[ir.Value],
    layout: Layout,
    *,
    are_compared: bool = False,
) -> TileAddresses:
    """Return where what the lane holds of a tile is in memory, axis by axis if indices are compared."""
    places = [formula(layout, axis).of_level(*UNIFORM) for axis in range(len(layout.axes))]
    choose = Coordinates if are_compared else tile_addresses
    return choose(distributor.places, buffer, indices, places)


def _offsets(layout: Layout, run: Run) -> list[int]:
    """Return where in the tile a run of registers is, as far as it is the same for all lanes."""
    return [constant_part(layout, axis, run.fragment, run.register) for axis in range(len(layout.axes))]


def _bytes(element: ir.Type) -> int:
    return element.width // 8

"""Rules for copies to shared memory that bypass registers: each lane starts the transfer of its elements.

`cp.async`: PTX ISA 9.2, section 9.7.9.25.3.
"""

from mlir import ir
from mlir.dialects import arith, nvgpu

from harness.codegen.layouts.constraints import is_copy
from harness.codegen.layouts.contiguous_accesses import contiguous_accesses
from harness.codegen.layouts.distribution.distributor import Distributor
from harness.codegen.layouts.distribution.lane_coordinates import index
from harness.codegen.layouts.distribution.memory import count_bank_conflicts
from harness.codegen.layouts.distribution.transfers import (
    LAST_AXIS,
    addresses_of,
    bytes_of,
    is_inside,
    nearest_inside,
    offsets_of,
    open_axes,
    start_of,
)
from harness.system.errors import BuildError


def is_asynchronous_copy(distributor: Distributor, write: ir.OpView) -> bool:
    """Return whether a write fills shared memory with what was read from elsewhere."""
    return is_copy(write)


def is_only_copied(distributor: Distributor, read: ir.OpView) -> bool:
    """Return whether nothing but copies to shared memory needs what is read."""
    return all(
        use.owner.name == "vector.transfer_write" and is_copy(use.owner) for use in read.results[0].uses
    )


def leave_to_the_copy(distributor: Distributor, read: ir.OpView) -> None:
    """Load nothing: the copy reads for itself."""


def distribute_copy(distributor: Distributor, write: ir.OpView) -> None:
    """Copy a tile to shared memory without registers; what is out of bounds is not read, and becomes zeros.

    Raises `BuildError` where a copy would be partly out of bounds.
    """
    read = write.operands[0].owner.opview
    layout, element = distributor.layout(write.operands[0]), read.results[0].type.element_type
    source, target = distributor.scalar(read.operands[0]), distributor.scalar(write.operands[1])
    axes = open_axes(read)
    if LAST_AXIS in axes:
        raise BuildError("a copy to shared memory cannot be cut within a row")
    count_bank_conflicts(distributor, write.operands[1], layout, element, is_write=True)
    sources = addresses_of(
        distributor, source, start_of(distributor, read, 1, source), layout, are_compared=bool(axes)
    )
    targets = addresses_of(distributor, target, start_of(distributor, write, 2, target), layout)
    for access in contiguous_accesses(layout, bytes_of(element)):
        offsets = offsets_of(layout, access)
        from_, count = sources.of(offsets), None
        if axes:
            count = arith.select(is_inside(source, from_, axes), index(access.length), index(0))
            from_ = nearest_inside(source, from_, axes)
        nvgpu.device_async_copy(
            targets.buffer,
            targets.of(offsets),
            sources.buffer,
            from_,
            access.length,
            src_elements=count,
            bypass_l1=True,
        )

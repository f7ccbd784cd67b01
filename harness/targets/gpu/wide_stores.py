"""The `wide-stores` stage: results pass through shared memory on their way out, for fewer stores.

A product leaves each lane pairs of neighbours.  Through shared memory a lane gets 16 bytes of a row.  At the
end of a workgroup that is memory of operands which nobody reads any more; what a loop stores each time needs
some of its own.  FlashAttention-2 stores its output in the same way.
"""

from dataclasses import dataclass

from mlir import ir

from harness.codegen.ir.transfers import FIRST_INDEX
from harness.codegen.ir.walk import operations_within
from harness.codegen.layouts.bank_conflicts import TileAccess, least_conflicting_pitch
from harness.codegen.layouts.constraints import in_shared_memory
from harness.codegen.layouts.contiguous_accesses import contiguous_accesses
from harness.codegen.layouts.distribution.transfers import LAST_AXIS, alignment_of, bytes_of, open_axes
from harness.codegen.layouts.layout import Layout
from harness.codegen.layouts.shared_memory_model import WIDEST_ACCESS_BYTES, SharedMemoryModel
from harness.codegen.layouts.warp_tiling import WarpTiling
from harness.codegen.layouts.workgroup_memory import LEAST_BITS, exchanged, is_body_of_workgroup
from harness.targets.gpu.shared_memory import place


@dataclass(frozen=True)
class Passage:
    """How a tile lies among the lanes before and after it passes through shared memory."""

    held: Layout
    stored: Layout
    element_bytes: int

    @property
    def saves_stores(self) -> bool:
        """Whether lanes have fewer stores afterwards."""
        before, after = (
            len(contiguous_accesses(layout, self.element_bytes)) for layout in (self.held, self.stored)
        )
        return after < before

    def pitch(self, memory: SharedMemoryModel) -> int:
        """Return the elements from one row to the next there: the fewest with the fewest bank conflicts."""
        return least_conflicting_pitch(
            lambda pitch: (TileAccess(self.held, memory.writes), TileAccess(self.stored, memory.reads)),
            self.held.shape[-1],
            self.element_bytes,
            WIDEST_ACCESS_BYTES,
        )


def store_wide(function: ir.OpView, tiling: WarpTiling, most_bytes: int | None) -> None:
    """Let what a workgroup computes by products pass through shared memory before it is stored, in place.

    That is left as it is which lanes would not store in fewer pieces, which needs more shared memory than the
    workgroup has already, or in a loop than it may have, `most_bytes`.
    """
    has_products = any(operation.name == "vector.contract" for operation in operations_within(function))
    if tiling.shared_memory is None or not has_products:
        return
    available = place(function).bytes
    for write in list(operations_within(function)):
        passage = _passage(write, tiling)
        if passage is None or not passage.saves_stores:
            continue
        pitch = passage.pitch(tiling.shared_memory)
        needed = passage.held.shape[0] * pitch * passage.element_bytes
        if is_body_of_workgroup(write.operation.block):
            has_room = needed <= available
        else:
            has_room = most_bytes is None or place(function).bytes + needed <= most_bytes
        if has_room:
            write.operation.operands[0] = exchanged(write.operands[0], write, pitch)


def _passage(write: ir.OpView, tiling: WarpTiling) -> Passage | None:
    """Return how a result can pass, if an operation writes one that lanes can store 16 bytes at a time."""
    if write.operation.name != "vector.transfer_write" or in_shared_memory(write.operands[1]):
        return None
    tile = write.operands[0].type
    block = write.operation.block
    is_uniform = is_body_of_workgroup(block) or block.owner.operation.name == "scf.for"
    if tile.rank != 2 or tile.element_type.width < LEAST_BITS or not is_uniform:
        return None
    (rows, columns), size = tile.shape, bytes_of(tile.element_type)
    if LAST_AXIS in open_axes(write) or not tiling.can_copy(rows, columns, size):
        return None
    stored = tiling.copy(rows, columns, size)
    alignment = alignment_of(write, FIRST_INDEX["vector.transfer_write"], stored)
    accesses = contiguous_accesses(stored, size)
    is_aligned = all(alignment.of(access, size) == WIDEST_ACCESS_BYTES for access in accesses)
    return Passage(tiling.result(rows, columns), stored, size) if is_aligned else None

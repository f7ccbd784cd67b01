"""Arrays in shared memory: places in the one region that the runtime keeps for the running workgroup."""

from collections.abc import Iterable

from mlir import ir

from harness.emulator.retarget import building as b
from harness.emulator.retarget.retargeted import REGION, SharedArray
from harness.emulator.retarget.types import bytes_of

SHARED_SPACE = 3
"""The address space of shared memory, which NVIDIA, AMD and Intel number alike."""

ALIGNMENT = 128
RED_ZONE = 128
"""Bytes between two arrays that nothing may touch."""


def is_shared(operation: ir.Operation) -> bool:
    """Whether a global lies in shared memory."""
    space = operation.attributes.get("addr_space")
    return space is not None and ir.IntegerAttr(space).value == SHARED_SPACE


def placed(arrays: Iterable[ir.Operation]) -> tuple[list[SharedArray], int | None]:
    """Return where each array lies, and where the one begins whose size the launch gives."""
    shared_arrays: list[SharedArray] = []
    dynamic: str | None = None
    end = RED_ZONE
    for operation in arrays:
        name = ir.StringAttr(operation.attributes["sym_name"]).value
        size = bytes_of(ir.TypeAttr(operation.attributes["global_type"]).value)
        if size == 0:
            dynamic = name
            continue
        shared_arrays.append(SharedArray(name, end, size))
        end = -(-(end + size + RED_ZONE) // ALIGNMENT) * ALIGNMENT
    if dynamic is not None:
        shared_arrays.append(SharedArray(dynamic, end, 0))
    return shared_arrays, None if dynamic is None else end


def replace_address(operation: ir.Operation, places: dict[str, SharedArray]) -> bool:
    """Replace the address of a shared array by one in the region; returns whether it was one."""
    name = ir.FlatSymbolRefAttr(operation.attributes["global_name"]).value
    if name not in places:
        return False
    with ir.InsertionPoint(operation), operation.location:
        address = b.offset(b.address_of(REGION), places[name].offset)
    operation.results[0].replace_all_uses_with(address)
    operation.erase()
    return True

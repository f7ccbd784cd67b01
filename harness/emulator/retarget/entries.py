"""Kernels' entry points, which read arguments through pointers as launches give them, and shared arrays.

Arrays lie in the one region that the runtime keeps for the running workgroup.
"""

import re
from collections.abc import Iterable

from mlir import ir
from mlir.dialects import llvm

from harness.emulator.retarget import building as b
from harness.emulator.retarget.building import bytes_of
from harness.emulator.retarget.retargeted import REGION, KernelDescription, SharedArray
from harness.system.errors import BuildError

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


KERNEL_CONVENTIONS = ("ptx_kernelcc", "amdgpu_kernelcc", "spir_kernelcc")

_WORKGROUP_SIZES = (
    re.compile(r'"nvvm\.(?:maxntid|reqntid)", "(\d+)(?:,(\d+))?(?:,(\d+))?"'),
    re.compile(r"reqd_work_group_size = array<i32: (\d+), (\d+), (\d+)>"),
    re.compile(r"nvvm\.(?:maxntid|reqntid) = array<i32: (\d+)(?:, (\d+))?(?:, (\d+))?>"),
)


def is_kernel(function: ir.Operation) -> bool:
    """Whether a function is one that a launch calls."""
    return "CConv" in function.attributes and any(
        name in str(function.attributes["CConv"]) for name in KERNEL_CONVENTIONS
    )


def workgroup_size(function: ir.Operation) -> tuple[int, int, int] | None:
    """Return the threads of a workgroup that the code was compiled for, where it says so."""
    text = ", ".join(f"{name} = {function.attributes[name]}" for name in function.attributes)
    for pattern in _WORKGROUP_SIZES:
        match = pattern.search(text)
        if match:
            x, y, z = (int(size or 1) for size in match.groups())
            return x, y, z
    return None


def add_entry(
    function: ir.Operation, shared: list[SharedArray], dynamic_offset: int | None
) -> KernelDescription:
    """Add a kernel's entry point behind it, and describe the kernel."""
    if "arg_attrs" in function.attributes and "llvm.byval" in str(function.attributes["arg_attrs"]):
        raise BuildError("the emulator has no model of a kernel argument that is passed by value (byval)")
    name = ir.StringAttr(function.attributes["sym_name"]).value
    entry = f"emulator_entry_{name}"
    types = [argument.type for argument in function.regions[0].blocks[0].arguments]
    with ir.InsertionPoint.after(function), function.location:
        added = b.function(entry, [b.pointer_type()])
        block = added.regions[0].blocks.append(b.pointer_type(), arg_locs=[function.location])
    with ir.InsertionPoint(block), function.location:
        arguments = []
        for position, kind in enumerate(types):
            place = b.load(b.pointer_type(), b.offset(block.arguments[0], 8 * position))
            arguments.append(b.load(kind, place))
        b.call(name, arguments)
        llvm.return_()
    return KernelDescription(
        name=name,
        entry=entry,
        argument_bytes=tuple(map(bytes_of, types)),
        block=workgroup_size(function),
        shared_arrays=tuple(array for array in shared if array.bytes),
        dynamic_offset=dynamic_offset,
    )

"""The `distributed` stage: a GPU function of each kernel, which says what one lane does."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import arith, gpu, memref

from harness.codegen.layouts.analysis import LayoutAnalysis
from harness.codegen.layouts.distribution.distributor import Distributor, VendorRule
from harness.codegen.layouts.distribution.lane_coordinates import LaneCoordinates, index
from harness.codegen.layouts.distribution.rules import rules_with
from harness.system.errors import BuildError
from harness.targets.gpu.shared_memory import ALIGNMENT, place
from harness.targets.lowering.grid_order import coordinates_of

KERNELS = "kernels"
"""Name of the `gpu.module`."""
SHARED_ARRAY = "shared"
"""Name of the array in shared memory that all kernels of a module have, sized when they are launched."""


@dataclass(frozen=True)
class KernelShape:
    """How a kernel is launched."""

    name: str
    grid: int
    """Workgroups, all along x."""
    threads: int
    shared_bytes: int
    bank_conflicts: int
    """Extra passes of the accesses to shared memory that stand in the code."""
    narrow_loads: int = 0
    """Loads of less than a word that loops make from global memory for their products."""


def gpu_module() -> ir.Module:
    """Return a module with an empty `gpu.module`."""
    module = ir.Module.create()
    module.operation.attributes["gpu.container_module"] = ir.UnitAttr.get()
    with ir.InsertionPoint(module.body):
        kernels = gpu.GPUModuleOp(KERNELS)
        if len(kernels.regions[0].blocks) == 0:
            kernels.regions[0].blocks.append()
    return module


def append_kernel(function: ir.OpView, module: ir.OpView, threads: int) -> gpu.GPUFuncOp:
    """Append an empty kernel with the name and the arguments of a function to a `gpu.module`."""
    return gpu.GPUFuncOp(
        ir.FunctionType.get(function.type.inputs, []),
        ir.StringAttr(function.attributes["sym_name"]).value,
        kernel=True,
        known_block_size=[threads, 1, 1],
        ip=ir.InsertionPoint(module.regions[0].blocks[0]),
        loc=function.location,
    )


def distribute_kernel(
    function: ir.OpView, analysis: LayoutAnalysis, module: ir.OpView, vendor_rules: Sequence[VendorRule]
) -> KernelShape:
    """Append the lane's function of a kernel to a `gpu.module`, and return how it is launched."""
    threads = analysis.tiling.threads
    kernel = append_kernel(function, module, threads)
    entry = kernel.add_entry_block()
    with ir.InsertionPoint(entry), function.location:
        thread = gpu.thread_id(gpu.Dimension.x)
        lanes = index(analysis.tiling.lanes)
        lane, warp = arith.remui(thread, lanes), arith.divui(thread, lanes)
        point = gpu.block_id(gpu.Dimension.x)
        end = gpu.ReturnOp([])
    with ir.InsertionPoint(end), function.location:
        anchor_end = index(0)  # coordinates of the lane are computed before it
        lane_coordinates = LaneCoordinates(lane, warp, ir.InsertionPoint(anchor_end.owner))
        distributor = Distributor(analysis, lane_coordinates, rules_with(vendor_rules))
        for argument, copied in zip(function.regions[0].blocks[0].arguments, entry.arguments, strict=True):
            distributor.define(argument, copied)
        shared_bytes = _share_memory(function, distributor, module)
        sizes: list[int] = []
        for operation in list(function.regions[0].blocks[0].operations)[:-1]:
            if operation.name == "scf.forall":  # a grid of one point has lost it to canonicalisation
                sizes = list(ir.DenseI64ArrayAttr(operation.attributes["staticUpperBound"]))
                _distribute_grid(operation, distributor, coordinates_of(point, sizes))
            elif operation.name != "memref.alloc":
                distributor.run([operation])
    return KernelShape(
        kernel.name.value,
        math.prod(sizes),
        threads,
        shared_bytes,
        distributor.bank_conflicts,
        distributor.narrow_loads,
    )


def _distribute_grid(grid: ir.OpView, distributor: Distributor, coordinates: list[ir.Value]) -> None:
    block = grid.regions[0].blocks[0]
    for argument, coordinate in zip(block.arguments, coordinates, strict=True):
        distributor.define(argument, coordinate)
    distributor.run([op for op in list(block.operations)[:-1] if op.name != "memref.alloc"])


def _share_memory(function: ir.OpView, distributor: Distributor, module: ir.OpView) -> int:
    """Place all shared buffers in the shared array; returns how many bytes they take.

    Raises `BuildError` where the device has no shared memory.
    """
    placement = place(function)
    if not placement.buffers:
        return 0
    model = distributor.analysis.tiling.shared_memory
    if model is None:
        raise BuildError("a kernel has buffers in shared memory, which the device does not have")
    space = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), model.address_space)
    array = _shared_array(module, space)
    for buffer, offset in zip(placement.buffers, placement.offsets, strict=True):
        result = buffer.allocation.results[0]
        kind = ir.MemRefType.get(result.type.shape, result.type.element_type, memory_space=space)
        distributor.define(result, memref.ViewOp(kind, array, index(offset), []).result)
    return placement.bytes


def _shared_array(module: ir.OpView, space: ir.Attribute) -> ir.Value:
    """Return the shared array, declared when the first kernel needs it; it has no size of its own."""
    kind = ir.MemRefType.get([0], ir.IntegerType.get_signless(8), memory_space=space)
    block = module.regions[0].blocks[0]
    if not any(operation.operation.name == "memref.global" for operation in block.operations):
        with ir.InsertionPoint.at_block_begin(block):
            memref.GlobalOp(SHARED_ARRAY, kind, alignment=ALIGNMENT)
    array: ir.Value = memref.get_global(kind, SHARED_ARRAY)
    return array

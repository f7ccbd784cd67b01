"""The `distributed` stage: a GPU function of each kernel, which says what one lane does."""

import math
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import arith, gpu, memref

from harness.layouts.analysis import LayoutAnalysis
from harness.layouts.distribution.distributor import Distributor
from harness.layouts.distribution.lane_coordinates import LaneCoordinates, index
from harness.layouts.distribution.rules import RULES, distribute_elementwise
from harness.targets.gpu.shared_memory import ALIGNMENT, place
from harness.targets.lowering.grid_points import coordinates_of

SHARED_SPACE = 3
"""Number of the address space of shared memory, on NVIDIA's and AMD's GPUs."""

SHARED_ARRAY = "shared"
"""How the name of a kernel's shared array begins."""


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


def distribute_kernel(function: ir.OpView, analysis: LayoutAnalysis, module: ir.OpView) -> KernelShape:
    """Append the lane's function of a kernel to a `gpu.module`, and return how it is launched."""
    name = ir.StringAttr(function.attributes["sym_name"]).value
    threads = analysis.tiling.threads
    kernel = gpu.GPUFuncOp(
        ir.FunctionType.get(function.type.inputs, []),
        name,
        kernel=True,
        known_block_size=[threads, 1, 1],
        ip=ir.InsertionPoint(module.regions[0].blocks[0]),
        loc=function.location,
    )
    entry = kernel.add_entry_block()
    with ir.InsertionPoint(entry), function.location:
        thread = gpu.thread_id(gpu.Dimension.x)
        lanes = index(analysis.tiling.lanes)
        lane, warp = arith.remui(thread, lanes), arith.divui(thread, lanes)
        point = gpu.block_id(gpu.Dimension.x)
        end = gpu.ReturnOp([])
    with ir.InsertionPoint(end), function.location:
        anchor_end = index(0)  # coordinates of the lane are computed before it
        places = LaneCoordinates(lane, warp, ir.InsertionPoint(anchor_end.owner))
        distributor = Distributor(analysis, places, RULES, distribute_elementwise)
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
    return KernelShape(name, math.prod(sizes), threads, shared_bytes, distributor.bank_conflicts)


def _distribute_grid(grid: ir.OpView, distributor: Distributor, coordinates: list[ir.Value]) -> None:
    """Let each workgroup do one point of the grid."""
    block = grid.regions[0].blocks[0]
    for argument, coordinate in zip(block.arguments, coordinates, strict=True):
        distributor.define(argument, coordinate)
    distributor.run([op for op in list(block.operations)[:-1] if op.name != "memref.alloc"])


def _share_memory(function: ir.OpView, distributor: Distributor, module: ir.OpView) -> int:
    """Place all shared buffers in one array of the workgroup's memory; returns how many bytes they take."""
    placement = place(function)
    if not placement.buffers:
        return 0
    space = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), SHARED_SPACE)
    array = ir.MemRefType.get([placement.bytes], ir.IntegerType.get_signless(8), memory_space=space)
    name = f"{SHARED_ARRAY}_{ir.StringAttr(function.attributes['sym_name']).value}"
    with ir.InsertionPoint.at_block_begin(module.regions[0].blocks[0]):
        memref.GlobalOp(name, array, sym_visibility="private", alignment=ALIGNMENT)
    memory = memref.get_global(array, name)
    for buffer, offset in zip(placement.buffers, placement.offsets, strict=True):
        result = buffer.allocation.results[0]
        kind = ir.MemRefType.get(result.type.shape, result.type.element_type, memory_space=space)
        distributor.define(result, memref.ViewOp(kind, memory, index(offset), []).result)
    return placement.bytes

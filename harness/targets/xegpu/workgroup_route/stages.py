"""The stages of MLIR's route, from a grid of workgroups to LLVM IR; names are those of the example."""

import math
from collections.abc import Callable
from functools import partial

from mlir import ir
from mlir.dialects import gpu

from harness.codegen.ir.walk import functions_of, operations_within
from harness.system.errors import BuildError, UnsupportedError
from harness.targets.base import Stage
from harness.targets.gpu.kernel_build import KernelBuild, on_module, verified_text
from harness.targets.gpu.kernel_function import KernelShape, append_kernel, gpu_module
from harness.targets.gpu.matrix_operands import narrow_matrix_operands
from harness.targets.lowering.bufferize import bufferize
from harness.targets.lowering.buffers import describe_buffers
from harness.targets.lowering.destinations import insert_instead_of_copying, write_where_kept
from harness.targets.lowering.grid_order import coordinates_of
from harness.targets.lowering.transforms import run_passes
from harness.targets.lowering.vectorize import vectorize
from harness.targets.xegpu.chips import SUB_GROUP
from harness.targets.xegpu.lowering import LLVM_IR, to_opencl, to_xevm
from harness.targets.xegpu.workgroup_route.inner_tiles import tile_keys
from harness.targets.xegpu.workgroup_route.layouts import (
    Layouts,
    drop_stale_layouts,
    lay_out,
    prefetch_next_tiles,
)
from harness.targets.xegpu.workgroup_route.masks import mask_scores
from harness.targets.xegpu.workgroup_route.order import order_products
from harness.targets.xegpu.workgroup_route.tiles import RouteTiles

GRID, VIEW = "scf.forall", "memref.collapse_shape"


def outline(function: ir.OpView, kernels: ir.OpView, threads: int) -> KernelShape:
    """Append a GPU function to a `gpu.module` that does what a function does; return how it is launched."""
    kernel = append_kernel(function, kernels, threads)
    entry, body = kernel.add_entry_block(), function.regions[0].blocks[0]
    for argument, taken in zip(body.arguments, entry.arguments, strict=True):
        argument.replace_all_uses_with(taken)
    sizes: list[int] = []
    with ir.InsertionPoint(entry), function.location:
        end = gpu.ReturnOp([]).operation
        for operation in list(body.operations)[:-1]:
            if operation.name == GRID:  # a grid of one point has lost it to canonicalisation
                sizes = list(ir.DenseI64ArrayAttr(operation.attributes["staticUpperBound"]))
                _outline_grid(operation, end, sizes)
            else:
                operation.operation.move_before(end)
    _take_matrices(kernel)
    return KernelShape(kernel.name.value, math.prod(sizes), threads, shared_bytes=0, bank_conflicts=0)


def _outline_grid(grid: ir.OpView, end: ir.Operation, sizes: list[int]) -> None:
    block = grid.regions[0].blocks[0]
    with ir.InsertionPoint(end), grid.location:
        coordinates = coordinates_of(gpu.block_id(gpu.Dimension.x), sizes)
    for argument, coordinate in zip(block.arguments, coordinates, strict=True):
        argument.replace_all_uses_with(coordinate)
    for operation in list(block.operations)[:-1]:
        operation.operation.move_before(end)


def _take_matrices(kernel: ir.OpView) -> None:
    """Let a kernel take each buffer as the matrix that it views it as, in place.

    `xegpu-subgroup-distribute` has no pattern for the views and leaves them to lane 0.
    """
    entry = kernel.regions[0].blocks[0]
    for argument in entry.arguments:
        views = [use.owner for use in argument.uses]
        kinds = {view.results[0].type for view in views if view.name == VIEW}
        if len(kinds) != 1 or any(view.name != VIEW for view in views):
            raise BuildError(f"{argument.type}: expected a buffer that is viewed as one matrix")
        argument.set_type(kinds.pop())
        for view in views:
            view.results[0].replace_all_uses_with(argument)
            view.erase()
    taken = ir.FunctionType.get([argument.type for argument in entry.arguments], [])
    kernel.attributes["function_type"] = ir.TypeAttr.get(taken)


TO_XEGPU = ("convert-vector-to-xegpu", "canonicalize", "cse")
TO_SUB_GROUPS = (
    "xegpu-wg-to-sg-distribute",
    "cse",
    "xegpu-propagate-layout{layout-kind=inst}",
    "xegpu-blocking",
    "canonicalize",
    "cse",
)
TO_LANES = (
    "xegpu-propagate-layout{layout-kind=lane}",
    "xegpu-optimize-block-loads",
    "canonicalize",
    "cse",
    "xegpu-subgroup-distribute",
    "canonicalize",
    "cse",
    "loop-invariant-code-motion",
    "cse",
    "xegpu-vector-linearize",
)
"""As in MLIR's own pipeline, but for the second to the fourth: without them a K that is transposed has no
message ("Could not find layout attribute for operand")."""


def route_stages(tiles: RouteTiles, *, prefetches: bool = True) -> tuple[Stage, ...]:
    """Return the stages behind `outer-tiled`, up to LLVM IR, with prefetches of the next tiles or without."""
    lay_out_all = partial(_lay_out, Layouts(tiles), prefetches)
    mask_all = partial(_mask, tiles)
    return (
        Stage("vectorized", "the tile of a workgroup as vectors, with all keys", on_module(_vectorize)),
        Stage("bufferized", "tensors become memory", _bufferize),
        Stage(
            "inner-tiled",
            "a loop over tiles of keys, in chunks of 16 columns",
            on_module(partial(_tile_keys, tiles)),
        ),
        Stage("gpu-outlining", "each point of the grid is a workgroup", partial(_outline, tiles)),
        Stage("xegpu-initial", "XeGPU's operations of a workgroup", _passes(*TO_XEGPU)),
        Stage("xegpu-wg", "layouts, and prefetches of the next tile", on_module(lay_out_all)),
        Stage("xegpu-sg", "what a sub-group does, instruction by instruction", on_module(_to_sub_groups)),
        Stage("xegpu-lane", "what a lane does", _passes(*TO_LANES)),
        Stage("masked", "scores that are not to be seen, in the last tiles of keys", on_module(mask_all)),
        Stage("in-order", "products in the order of what they load", on_module(_order)),
        Stage("final", "XeVM's operations, and with them the LLVM dialect", on_module(_to_llvm)),
        LLVM_IR,
    )


def _vectorize(module: ir.Module) -> None:
    vectorize(module)
    write_where_kept(module)
    insert_instead_of_copying(module)
    narrow_matrix_operands(module)
    run_passes(module, "canonicalize", "cse")


def _bufferize(build: KernelBuild) -> str:
    bufferize(build.module)
    run_passes(build.module, "fold-memref-alias-ops", "canonicalize", "cse")
    for function in functions_of(build.module):
        if "memref.alloc" in str(function):
            raise UnsupportedError(f"kernel {function.name.value} holds a tile in memory")
    build.buffers = [describe_buffers(function) for function in functions_of(build.module)]
    return verified_text(build.module)


def _tile_keys(tiles: RouteTiles, module: ir.Module) -> None:
    for function in functions_of(module):
        tile_keys(function, tiles)
    run_passes(module, "canonicalize", "cse")


def _outline(tiles: RouteTiles, build: KernelBuild) -> str:
    functions = functions_of(build.module)
    outlined = gpu_module()
    threads = SUB_GROUP * tiles.sub_groups
    build.shapes = [outline(function, outlined.body.operations[0], threads) for function in functions]
    build.module = outlined
    run_passes(outlined, f"xevm-attach-target{{chip={build.vendor.chip} O=2}}", "lower-affine", "cse")
    return verified_text(outlined)


def _lay_out(layouts: Layouts, prefetches: bool, module: ir.Module) -> None:
    for kernel in _kernels(module):
        lay_out(kernel, layouts)
        loops = [operation for operation in operations_within(kernel) if operation.name == "scf.for"]
        for loop in loops if prefetches and layouts.tiles.prefetched_rows else ():
            prefetch_next_tiles(loop, layouts)


def _to_sub_groups(module: ir.Module) -> None:
    run_passes(module, f"gpu.module({','.join(TO_SUB_GROUPS)})")
    for kernel in _kernels(module):
        drop_stale_layouts(kernel)


def _mask(tiles: RouteTiles, module: ir.Module) -> None:
    for kernel in _kernels(module):
        mask_scores(kernel, tiles)


def _order(module: ir.Module) -> None:
    for kernel in _kernels(module):
        order_products(kernel)


def _to_llvm(module: ir.Module) -> None:
    to_xevm(module)
    to_opencl(module)


def _passes(*passes: str) -> Callable[[KernelBuild], str]:
    return on_module(lambda module: run_passes(module, f"gpu.module({','.join(passes)})"))


def _kernels(module: ir.Module) -> list[ir.OpView]:
    return list(module.body.operations[0].regions[0].blocks[0].operations)

"""The stage `gpu-outlining`: each point of a kernel's grid is a workgroup of a GPU function."""

import math

from mlir import ir
from mlir.dialects import gpu

from harness.system.errors import BuildError
from harness.targets.gpu.kernel_function import KernelShape, append_kernel
from harness.targets.lowering.grid_order import coordinates_of

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

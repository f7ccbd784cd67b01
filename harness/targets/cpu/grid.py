"""The `grid` stage: a kernel computes a sub-range of its grid, so that threads can share it."""

import math

from mlir import ir
from mlir.dialects import arith, func, scf

from harness.codegen.ir.walk import functions_of, terminator_of
from harness.targets.cpu.register_tiles import INNER_LOOP
from harness.targets.cpu.scratch import append_arguments
from harness.targets.lowering.grid_order import coordinates_of


def loop_over_grid_range(module: ir.Module) -> dict[str, int]:
    """Make every kernel `kernel(first, end, …)` run grid points first … end, in place.

    Points are numbered with the last grid dimension fastest.  Returns the number of points of each kernel.
    """
    return {ir.StringAttr(function.name).value: _number_grid(function) for function in functions_of(module)}


def _number_grid(function: func.FuncOp) -> int:
    block = function.entry_block
    first, end = append_arguments(function, ir.IndexType.get(), ir.IndexType.get())
    grid = _grid_loop(block)
    if grid is None:
        sizes: list[int] = []
        place = terminator_of(block)
        contents = list(block.operations)[:-1]
    else:
        sizes = list(ir.DenseI64ArrayAttr(grid.attributes["staticUpperBound"]))
        place = grid
        contents = list(grid.regions[0].blocks[0].operations)
    with ir.InsertionPoint(place), ir.Location.unknown():
        loop = scf.ForOp(first, end, arith.constant(ir.IndexType.get(), 1))
        with ir.InsertionPoint(loop.body):
            coordinates = coordinates_of(loop.induction_variable, sizes)
            terminator = scf.YieldOp([])
    for operation in contents:
        if operation.name != "scf.forall.in_parallel":
            operation.move_before(terminator)
    if grid is not None:
        for argument, coordinate in zip(grid.regions[0].blocks[0].arguments, coordinates, strict=True):
            argument.replace_all_uses_with(coordinate)
        grid.operation.erase()
    return math.prod(sizes)


def _grid_loop(block: ir.Block) -> ir.OpView | None:
    """Return the loop over the grid; a grid of one point has lost it to canonicalisation."""
    loops = [op for op in block.operations if op.name == "scf.forall" and INNER_LOOP not in op.attributes]
    return loops[0] if loops else None

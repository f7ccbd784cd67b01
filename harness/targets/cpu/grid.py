"""The `grid` stage: a kernel computes a sub-range of its grid, with scratch memory of its caller's."""

import math

from mlir import ir
from mlir.dialects import arith, func, memref, scf

from harness.codegen.ir.walk import functions_of, operations_within, terminator_of
from harness.targets.cpu.register_tiles import INNER_LOOP
from harness.targets.lowering.grid_order import coordinates_of

ALIGNMENT = 64
"""Bytes: a cache line, and the widest vector register."""


def scratch_from_caller(module: ir.Module) -> dict[str, int]:
    """Replace every allocation in a kernel by a piece of one scratch argument, in place.

    Threads then bring their own scratch memory: no allocator runs while a kernel is timed, and how much a
    kernel needs is known.  Returns the bytes for each kernel.
    """
    return {ir.StringAttr(function.name).value: _scratch_of(function) for function in functions_of(module)}


def _scratch_of(function: func.FuncOp) -> int:
    allocations = [op for op in operations_within(function) if op.name == "memref.alloc"]
    offsets, size = [], 0
    for allocation in allocations:
        offsets.append(size)
        size += _padded_bytes(allocation.results[0].type)
    scratch_type = ir.MemRefType.get([max(size, ALIGNMENT)], ir.IntegerType.get_signless(8))
    (scratch,) = append_arguments(function, scratch_type)
    for allocation, offset in zip(allocations, offsets, strict=True):
        with ir.InsertionPoint(allocation), allocation.location:
            start = arith.constant(ir.IndexType.get(), offset)
            view = memref.ViewOp(allocation.results[0].type, scratch, start, [])
        allocation.results[0].replace_all_uses_with(view.result)
        allocation.operation.erase()
    return max(size, ALIGNMENT)


def append_arguments(function: func.FuncOp, *kinds: ir.Type) -> list[ir.Value]:
    """Let a kernel take further arguments, in place; return them."""
    added = [function.entry_block.add_argument(kind, ir.Location.unknown()) for kind in kinds]
    signature = ir.FunctionType.get([*function.type.inputs, *kinds], function.type.results)
    function.attributes["function_type"] = ir.TypeAttr.get(signature)
    function.arg_attrs = [*function.arg_attrs, *[ir.DictAttr.get({})] * len(kinds)]
    return added


def _padded_bytes(buffer_type: ir.MemRefType) -> int:
    size = math.prod(buffer_type.shape) * buffer_type.element_type.width // 8
    return -(-size // ALIGNMENT) * ALIGNMENT


def loop_over_grid_range(module: ir.Module) -> dict[str, int]:
    """Make every kernel `kernel(first, end, …)` run grid points first … end, in place.

    Points are numbered with the last grid dimension fastest.  Returns the number of points of each kernel.
    """
    return {ir.StringAttr(function.name).value: _number_grid(function) for function in functions_of(module)}


def _number_grid(function: func.FuncOp) -> int:
    block = function.entry_block
    first, end = append_arguments(function, ir.IndexType.get(), ir.IndexType.get())
    grid = grid_loop(block)
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


def grid_loop(block: ir.Block) -> ir.OpView | None:
    """Return the loop over the grid; a grid of one point has lost it to canonicalisation."""
    loops = [op for op in block.operations if op.name == "scf.forall" and INNER_LOOP not in op.attributes]
    return loops[0] if loops else None

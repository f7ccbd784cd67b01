"""The `grid` stage: a kernel computes a sub-range of its grid, so that threads can share it."""

from mlir import ir
from mlir.dialects import arith, func, scf

from harness.targets.cpu.lanes import operations_within


def loop_over_grid_range(module: ir.Module) -> dict[str, int]:
    """Make every kernel `kernel(first, end, …)` run grid points first … end, in place.

    Points are numbered with the last grid dimension fastest.  Returns the number of points of each kernel.
    """
    return {
        ir.StringAttr(function.name).value: _number_grid(function)
        for function in module.body.operations
        if isinstance(function, func.FuncOp)
    }


def _number_grid(function: func.FuncOp) -> int:
    grid = next(op for op in operations_within(function) if op.name == "scf.forall")
    sizes = list(ir.DenseI64ArrayAttr(grid.attributes["staticUpperBound"]))
    block = function.entry_block
    index = ir.IndexType.get()
    with ir.Location.unknown():
        first = block.add_argument(index, ir.Location.unknown())
        end = block.add_argument(index, ir.Location.unknown())
    inputs = [*function.type.inputs, index, index]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, []))
    function.arg_attrs = [*function.arg_attrs, ir.DictAttr.get({}), ir.DictAttr.get({})]
    with ir.InsertionPoint(grid), ir.Location.unknown():
        loop = scf.ForOp(first, end, arith.constant(index, 1))
        with ir.InsertionPoint(loop.body):
            coordinates = _coordinates(loop.induction_variable, sizes)
            terminator = scf.YieldOp([])
    body = grid.regions[0].blocks[0]
    for argument, coordinate in zip(body.arguments, coordinates, strict=True):
        argument.replace_all_uses_with(coordinate)
    for operation in list(body.operations):
        if operation.name != "scf.forall.in_parallel":
            operation.move_before(terminator)
    grid.operation.erase()
    points = 1
    for size in sizes:
        points *= size
    return points


def _coordinates(point: ir.Value, sizes: list[int]) -> list[ir.Value]:
    """Split a point's number into one coordinate per grid dimension."""
    index = ir.IndexType.get()
    coordinates: list[ir.Value] = []
    rest = point
    for size in reversed(sizes[1:]):
        extent = arith.constant(index, size)
        coordinates.insert(0, arith.remui(rest, extent))
        rest = arith.divui(rest, extent)
    return [rest, *coordinates]

"""Split a grid loop in several kernels, with memory between them.

Loop distribution: the iterations of a grid are independent, so that what one loop does in two steps, two
loops can do one after the other, if each iteration leaves what its second step needs in a block of memory of
its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mlir import ir
from mlir.dialects import func, scf

from harness.codegen.ir.walk import terminator_of
from harness.codegen.rewrites.dependencies import Copies, copy_with, operands_within, producers_in
from harness.codegen.rewrites.errors import RewriteRefusedError
from harness.codegen.rewrites.structured import place_of
from harness.codegen.rewrites.workspaces import Workspace, kernel_function


@dataclass(frozen=True)
class HandedOn:
    """A tile that one kernel leaves for the next."""

    tile: ir.Value
    workspace: str
    """Name of the memory that it is left in, `[grid …, tile …]`; what was there before is overwritten."""


@dataclass(frozen=True)
class Kernel:
    """One of the kernels to make."""

    name: str
    leaves: HandedOn | None = None
    """The tile that it computes; None for the last kernel, which does what is left."""
    writes: tuple[int, ...] = ()
    """Which of the grid's results it writes besides; the last kernel writes those that no other does."""


def split_grid(function: func.FuncOp, kernels: Sequence[Kernel], dimensions: Sequence[str]) -> None:
    """Replace a function whose body is one `scf.forall` by kernels that run one after the other.

    Each kernel finds the tile of the kernel before it in a workspace, one block for each iteration; all tiles
    handed on have one type, with dimensions of these names.  Raises `RewriteRefusedError` where the function
    has another form.
    """
    grid = _grid_of(function, kernels, dimensions)
    before, written = None, {number for kernel in kernels for number in kernel.writes}
    left = tuple(number for number in range(len(grid.outputs)) if number not in written)
    for kernel in kernels:
        own = kernel if kernel.leaves is not None else replace(kernel, writes=left)
        with ir.InsertionPoint(function), function.location:
            _build(grid, own, before)
        before = kernel.leaves
    function.operation.erase()


@dataclass(frozen=True)
class _Grid:
    """The grid that is split, and the form of the workspaces in which tiles are handed on."""

    function: func.FuncOp
    forall: ir.OpView
    tile: ir.RankedTensorType
    """Type of all tiles handed on."""
    dimensions: tuple[str, ...]
    """Names of a tile's dimensions."""

    @property
    def points(self) -> tuple[int, ...]:
        """Iterations along each of its axes."""
        return tuple(ir.DenseI64ArrayAttr(self.forall.attributes["staticUpperBound"]))

    @property
    def body(self) -> ir.Block:
        return self.forall.regions[0].blocks[0]

    @property
    def outputs(self) -> list[ir.Value]:
        """The arguments of the function that the grid's results are written to."""
        return list(self.forall.operands)[-len(self.forall.results) :]

    def insertions(self, outputs: Sequence[int]) -> list[ir.OpView]:
        """Return what puts the tiles of a point in their places."""
        every = list(terminator_of(self.body).regions[0].blocks[0].operations)
        return [every[number] for number in outputs]

    def workspace(self, name: str) -> Workspace:
        return Workspace(name, self.points, self.tile, self.dimensions)


def _grid_of(function: func.FuncOp, kernels: Sequence[Kernel], dimensions: Sequence[str]) -> _Grid:
    forall = next((op for op in function.entry_block.operations if op.name == "scf.forall"), None)
    if forall is None:
        raise RewriteRefusedError(function, "its body is not one grid loop")
    types = {str(kernel.leaves.tile.type): kernel.leaves.tile.type for kernel in kernels if kernel.leaves}
    if len(types) != 1:
        names = ", ".join(sorted(types))
        raise RewriteRefusedError(forall, f"tiles of types {names} cannot share a workspace")
    (tile,) = types.values()
    return _Grid(function, forall, tile, tuple(dimensions))


def _build(grid: _Grid, kernel: Kernel, before: HandedOn | None) -> None:
    wanted = [value for insertion in grid.insertions(kernel.writes) for value in insertion.operands]
    left = []
    if kernel.leaves is not None:
        wanted.append(kernel.leaves.tile)
        left.append(grid.workspace(kernel.leaves.workspace))
    computed = frozenset() if before is None else frozenset([before.tile])
    operations = producers_in([grid.function.entry_block, grid.body], wanted, computed)
    reads = {value for operation in operations for value in operands_within(operation)}.union(wanted)
    finds = before if before is not None and before.tile in reads else None
    only_read = []
    if finds is not None and grid.workspace(finds.workspace) not in left:
        only_read.append(grid.workspace(finds.workspace))
    inputs = [each for each in grid.function.arguments if each in reads and each not in grid.outputs]
    written = [*left, *(grid.outputs[number] for number in kernel.writes)]
    block = kernel_function(kernel.name, grid.function, [*only_read, *inputs, *written], len(written))
    values = list(block.arguments)
    places = values[len(values) - len(written) :]
    copies: Copies = dict(zip(inputs, values[len(only_read) :], strict=False))
    copies.update(zip(written[len(left) :], places[len(left) :], strict=True))
    with ir.InsertionPoint(block):
        for operation in operations:
            if operation.operation.block != grid.body:
                copy_with(operation, copies)
        axes = len(grid.points)
        loop = scf.ForallOp([0] * axes, grid.points, [1] * axes, places)
        with ir.InsertionPoint(loop.body):
            if finds is not None:
                memory = values[0] if only_read else loop.inner_iter_args[0]
                point = list(loop.induction_variables)
                copies[finds.tile] = grid.workspace(finds.workspace).block(memory, point)
            _build_iteration(grid, kernel, operations, copies, loop)
        func.ReturnOp(list(loop.results))


def _build_iteration(
    grid: _Grid, kernel: Kernel, operations: Sequence[ir.OpView], copies: Copies, loop: scf.ForallOp
) -> None:
    point, written = list(loop.induction_variables), list(loop.inner_iter_args)
    before, axes = list(grid.body.arguments), len(point)
    copies.update(zip(before[:axes], point, strict=True))
    outputs = written[len(written) - len(kernel.writes) :]
    copies.update(zip((before[axes + number] for number in kernel.writes), outputs, strict=True))
    if kernel.leaves is not None:
        place = place_of(kernel.leaves.tile)
        if isinstance(place, ir.OpResult) and place.owner.name == "tensor.empty":
            copies[place] = grid.workspace(kernel.leaves.workspace).block(written[0], point)
    for operation in operations:
        is_replaced = any(result in copies for result in operation.results)
        if operation.operation.block == grid.body and not is_replaced:
            copy_with(operation, copies)
    in_parallel = scf.InParallelOp()
    with ir.InsertionPoint(in_parallel.block):
        if kernel.leaves is not None:
            grid.workspace(kernel.leaves.workspace).put(copies[kernel.leaves.tile], written[0], point)
        for insertion in grid.insertions(kernel.writes):
            copy_with(insertion, copies)

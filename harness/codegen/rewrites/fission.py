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
from harness.codegen.rewrites.places import place_of
from harness.codegen.rewrites.workspaces import Workspace, kernel_function


@dataclass(frozen=True)
class HandedOn:
    """A tile that one kernel leaves for later ones."""

    tile: ir.Value
    workspace: str
    """Name of the memory that it is left in, `[grid …, tile …]`; what was there before is overwritten."""
    dimensions: tuple[str, ...]
    """Names of the tile's dimensions."""


@dataclass(frozen=True)
class Kernel:
    """One of the kernels to make."""

    name: str
    leaves: tuple[HandedOn, ...] = ()
    """The tiles that it computes; none for the last kernel, which does what is left."""
    writes: tuple[int, ...] = ()
    """Which of the grid's results it writes besides; the last kernel writes those that no other does."""


def split_grid(function: func.FuncOp, kernels: Sequence[Kernel]) -> None:
    """Replace a function whose body is one `scf.forall` by kernels that run one after the other.

    Each kernel finds the tiles of the kernels before it in workspaces, one block for each iteration.  Raises
    `RewriteRefusedError` where the function has another form, or tiles of several types share a workspace.
    """
    grid = _grid_of(function, kernels)
    found: list[HandedOn] = []
    written = {number for kernel in kernels for number in kernel.writes}
    left = tuple(number for number in range(len(grid.outputs)) if number not in written)
    for kernel in kernels:
        own = kernel if kernel.leaves else replace(kernel, writes=left)
        with ir.InsertionPoint(function), function.location:
            _build(grid, own, found)
        overwritten = {each.workspace for each in kernel.leaves}
        found = [each for each in found if each.workspace not in overwritten] + list(kernel.leaves)
    function.operation.erase()


@dataclass(frozen=True)
class _Grid:
    """The grid that is split, and the form of the workspaces in which tiles are handed on."""

    function: func.FuncOp
    forall: ir.OpView

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

    def workspace(self, handed_on: HandedOn) -> Workspace:
        return Workspace(handed_on.workspace, self.points, handed_on.tile.type, handed_on.dimensions)


def _grid_of(function: func.FuncOp, kernels: Sequence[Kernel]) -> _Grid:
    forall = next((op for op in function.entry_block.operations if op.name == "scf.forall"), None)
    if forall is None:
        raise RewriteRefusedError(function, "its body is not one grid loop")
    types: dict[str, set[str]] = {}
    for handed_on in (each for kernel in kernels for each in kernel.leaves):
        types.setdefault(handed_on.workspace, set()).add(str(handed_on.tile.type))
    for names in types.values():
        if len(names) > 1:
            raise RewriteRefusedError(
                forall, f"tiles of types {', '.join(sorted(names))} cannot share a workspace"
            )
    return _Grid(function, forall)


def _build(grid: _Grid, kernel: Kernel, before: Sequence[HandedOn]) -> None:
    wanted = [value for insertion in grid.insertions(kernel.writes) for value in insertion.operands]
    wanted += [each.tile for each in kernel.leaves]
    left = [grid.workspace(each) for each in kernel.leaves]
    computed = frozenset(each.tile for each in before)
    operations = producers_in([grid.function.entry_block, grid.body], wanted, computed)
    reads = {value for operation in operations for value in operands_within(operation)}.union(wanted)
    finds = [each for each in before if each.tile in reads]
    only_read = [grid.workspace(each) for each in finds if grid.workspace(each) not in left]
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
        memory = [*zip(only_read, values, strict=False), *zip(left, loop.inner_iter_args, strict=False)]
        with ir.InsertionPoint(loop.body):
            point = list(loop.induction_variables)
            for each in finds:
                workspace = grid.workspace(each)
                holder = next(value for other, value in memory if other == workspace)
                copies[each.tile] = workspace.block(holder, point)
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
    left = list(zip(kernel.leaves, written, strict=False))
    for handed_on, memory in left:
        place = place_of(handed_on.tile)
        if isinstance(place, ir.OpResult) and place.owner.name == "tensor.empty":
            copies[place] = grid.workspace(handed_on).block(memory, point)
    for operation in operations:
        is_replaced = any(result in copies for result in operation.results)
        if operation.operation.block == grid.body and not is_replaced:
            copy_with(operation, copies)
    in_parallel = scf.InParallelOp()
    with ir.InsertionPoint(in_parallel.block):
        for handed_on, memory in left:
            grid.workspace(handed_on).put(copies[handed_on.tile], memory, point)
        for insertion in grid.insertions(kernel.writes):
            copy_with(insertion, copies)

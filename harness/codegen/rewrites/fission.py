"""Split a grid loop in several kernels, with memory between them.

Loop distribution: the iterations of a grid are independent, so that what one loop does in two steps, two
loops can do one after the other, if each iteration leaves what its second step needs in a block of memory of
its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import func, scf

from harness.codegen.ir.walk import terminator_of
from harness.codegen.rewrites.dependencies import Copies, copy_with, operands_within, producers_in
from harness.codegen.rewrites.errors import RewriteRefusedError
from harness.codegen.rewrites.structured import place_of
from harness.codegen.rewrites.workspaces import Workspace


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
        writes = kernel.writes if kernel.leaves is not None else left
        with ir.InsertionPoint(function), function.location:
            _build(grid, _part_of(grid, kernel, writes, before))
        before = kernel.leaves
    function.operation.erase()


@dataclass(frozen=True)
class _Argument:
    """An argument of a kernel."""

    type: ir.Type
    attributes: ir.DictAttr
    original: ir.Value | None = None
    """The argument that it is of the function that is split; None for a workspace."""


@dataclass(frozen=True)
class _Grid:
    """The grid that is split, and the form of the workspaces in which tiles are handed on."""

    function: func.FuncOp
    forall: ir.OpView
    points: tuple[int, ...]
    """Iterations along each of its axes."""
    tile: ir.RankedTensorType
    """Type of all tiles handed on."""
    dimensions: tuple[str, ...]
    """Names of a tile's dimensions."""

    @property
    def body(self) -> ir.Block:
        return self.forall.regions[0].blocks[0]

    @property
    def outputs(self) -> list[ir.Value]:
        """The arguments of the function that the grid's results are written to."""
        return list(self.forall.operands)[-len(self.forall.results) :]

    @property
    def insertions(self) -> list[ir.OpView]:
        """What puts the tiles of a point in their places, one for each output."""
        return list(terminator_of(self.body).regions[0].blocks[0].operations)

    def argument(self, original: ir.Value) -> _Argument:
        """Return an argument of the function as one of a kernel."""
        attributes = self.function.arg_attrs[ir.BlockArgument(original).arg_number]
        return _Argument(original.type, ir.DictAttr(attributes), original)

    def workspace(self, name: str) -> Workspace:
        """Return the memory of this name."""
        return Workspace(name, self.points, self.tile, self.dimensions)

    def workspace_argument(self, name: str) -> _Argument:
        """Return a workspace as an argument of a kernel."""
        workspace = self.workspace(name)
        return _Argument(workspace.type, workspace.attributes)


@dataclass(frozen=True)
class _Part:
    """What one kernel takes over of the grid."""

    name: str
    operations: tuple[ir.OpView, ...]
    """What it executes, in order: outside the grid, then within."""
    reads: frozenset[ir.Value]
    """What these operations read."""
    finds: HandedOn | None
    """What it reads that the kernel before it has left."""
    leaves: HandedOn | None
    writes: tuple[int, ...]
    """Which of the grid's results it writes."""

    @property
    def reads_another_workspace(self) -> bool:
        """Whether it finds its tile elsewhere than where it leaves one."""
        if self.finds is None:
            return False
        return self.leaves is None or self.leaves.workspace != self.finds.workspace


def _grid_of(function: func.FuncOp, kernels: Sequence[Kernel], dimensions: Sequence[str]) -> _Grid:
    """Return the grid of a function; raises `RewriteRefusedError` where it cannot be split like this."""
    forall = next((op for op in function.entry_block.operations if op.name == "scf.forall"), None)
    if forall is None:
        raise RewriteRefusedError(function, "its body is not one grid loop")
    points = tuple(ir.DenseI64ArrayAttr(forall.attributes["staticUpperBound"]))
    if ir.ShapedType.get_dynamic_size() in points:
        raise RewriteRefusedError(forall, "the number of its tiles is known only at run time")
    types = {str(kernel.leaves.tile.type): kernel.leaves.tile.type for kernel in kernels if kernel.leaves}
    if len(types) != 1:
        names = ", ".join(sorted(types))
        raise RewriteRefusedError(forall, f"tiles of types {names} cannot share a workspace")
    (tile,) = types.values()
    return _Grid(function, forall, points, tile, tuple(dimensions))


def _part_of(grid: _Grid, kernel: Kernel, writes: tuple[int, ...], before: HandedOn | None) -> _Part:
    """Return what a kernel does, given what the kernel before it leaves."""
    insertions = [grid.insertions[number] for number in writes]
    wanted = [value for insertion in insertions for value in insertion.operands]
    if kernel.leaves is not None:
        wanted.append(kernel.leaves.tile)
    operations = _needed(grid, wanted, before)
    reads = frozenset(value for operation in operations for value in operands_within(operation)).union(wanted)
    finds = before if before is not None and before.tile in reads else None
    return _Part(kernel.name, operations, reads, finds, kernel.leaves, writes)


def _needed(grid: _Grid, values: Sequence[ir.Value], before: HandedOn | None) -> tuple[ir.OpView, ...]:
    """Return the operations that compute values from the tile that the kernel before leaves, in order."""
    handed_on: frozenset[ir.Value] = frozenset() if before is None else frozenset([before.tile])
    return producers_in([grid.function.entry_block, grid.body], values, handed_on)


def _arguments(grid: _Grid, part: _Part) -> list[_Argument]:
    """Return a kernel's arguments: a workspace that it only reads, its inputs, what it writes."""
    only_read: list[_Argument] = []
    if part.finds is not None and part.reads_another_workspace:
        only_read = [grid.workspace_argument(part.finds.workspace)]
    outputs = grid.outputs
    inputs = [each for each in grid.function.arguments if each in part.reads and each not in outputs]
    return [*only_read, *map(grid.argument, inputs), *_written(grid, part)]


def _written(grid: _Grid, part: _Part) -> list[_Argument]:
    """Return what a kernel writes: its workspace, then outputs."""
    left = [] if part.leaves is None else [grid.workspace_argument(part.leaves.workspace)]
    return [*left, *(grid.argument(grid.outputs[number]) for number in part.writes)]


def _build(grid: _Grid, part: _Part) -> None:
    """Build a kernel at the current insertion point."""
    arguments = _arguments(grid, part)
    types = [argument.type for argument in arguments]
    count = len(_written(grid, part))
    function = func.FuncOp(part.name, (types, types[-count:]))
    function.arg_attrs = [argument.attributes for argument in arguments]
    block = function.add_entry_block()
    values = list(block.arguments)
    copies = {
        argument.original: value
        for argument, value in zip(arguments, values, strict=True)
        if argument.original is not None
    }
    with ir.InsertionPoint(block):
        for operation in part.operations:
            if operation.operation.block != grid.body:
                copy_with(operation, copies)
        axes = len(grid.points)
        loop = scf.ForallOp([0] * axes, grid.points, [1] * axes, values[-count:])
        with ir.InsertionPoint(loop.body):
            _build_iteration(grid, part, copies, loop, values[0] if part.reads_another_workspace else None)
        func.ReturnOp(list(loop.results))


def _build_iteration(
    grid: _Grid, part: _Part, copies: Copies, loop: scf.ForallOp, only_read: ir.Value | None
) -> None:
    """Build what a kernel does at one point of the grid."""
    point, written = list(loop.induction_variables), list(loop.inner_iter_args)
    before, axes = list(grid.body.arguments), len(point)
    copies.update(zip(before[:axes], point, strict=True))
    outputs = written[len(written) - len(part.writes) :]
    copies.update(zip((before[axes + number] for number in part.writes), outputs, strict=True))
    if part.finds is not None:
        memory = written[0] if only_read is None else only_read
        copies[part.finds.tile] = grid.workspace(part.finds.workspace).block(memory, point)
    if part.leaves is not None:
        place = place_of(part.leaves.tile)
        if isinstance(place, ir.OpResult) and place.owner.name == "tensor.empty":
            copies[place] = grid.workspace(part.leaves.workspace).block(written[0], point)
    for operation in part.operations:
        is_replaced = any(result in copies for result in operation.results)
        if operation.operation.block == grid.body and not is_replaced:
            copy_with(operation, copies)
    in_parallel = scf.InParallelOp()
    with ir.InsertionPoint(in_parallel.block):
        if part.leaves is not None:
            grid.workspace(part.leaves.workspace).put(copies[part.leaves.tile], written[0], point)
        for number in part.writes:
            copy_with(grid.insertions[number], copies)

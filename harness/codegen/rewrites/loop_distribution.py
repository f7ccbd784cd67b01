"""Give the iterations of a loop within a grid points of a grid of their own.

Loop distribution: what the iterations of a loop compute independently of what the loop carries, a kernel can
compute before, for all of them at once.  Its grid has one axis more.  The loop that is left finds in memory
what it takes up.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import func, scf

from harness.codegen.ir import builder as b
from harness.codegen.ir.constants import constant_index
from harness.codegen.ir.for_loop import ForLoop
from harness.codegen.ir.walk import enclosing_function
from harness.codegen.payloads.attention_steps import stored
from harness.codegen.payloads.padding import padded
from harness.codegen.rewrites.dependencies import Copies, copy_with, operands_within, producers_in
from harness.codegen.rewrites.errors import RewriteRefusedError
from harness.codegen.rewrites.simplifications import erase_unused
from harness.codegen.rewrites.workspaces import Workspace, kernel_function


@dataclass(frozen=True)
class IterationTile:
    """A tile that an iteration computes on its own and that the loop takes up."""

    tile: ir.Value
    workspace: str
    """Name of the memory that it is left in, `[grid …, iteration, tile …]`."""
    dimensions: tuple[str, ...]
    """Names of its dimensions."""
    kept: tuple[int, ...]
    """How many of its elements along each dimension are left there; the others, which are padding, are 0 when
    the loop takes them up."""


def distribute_loop(loop: ir.OpView, names: tuple[str, str], tiles: Sequence[IterationTile]) -> None:
    """Replace a function whose body is a grid with a loop in it by two kernels of these names.

    The first computes the tiles of all iterations, the second does the rest.  Raises `RewriteRefusedError`
    where the loop does not stand in a grid, the number of its iterations is not known, or a tile depends on
    what the loop carries.
    """
    nest = _nest_of(loop)
    workspaces = [
        Workspace(
            tile.workspace,
            nest.points,
            ir.RankedTensorType.get(tile.kept, tile.tile.type.element_type),
            tile.dimensions,
        )
        for tile in tiles
    ]
    values = [tile.tile for tile in tiles]
    with ir.InsertionPoint(nest.function), loop.location:
        _build_first(nest, names[0], values, workspaces)
        _build_second(nest, names[1], values, workspaces)
    nest.function.operation.erase()


@dataclass(frozen=True)
class _Nest:
    """A loop in a grid in a function."""

    function: func.FuncOp
    grid: ir.OpView
    loop: ir.OpView
    points: tuple[int, ...]
    """Points along each axis of the grid, then iterations of the loop."""

    @property
    def blocks(self) -> list[ir.Block]:
        """The blocks of function, grid and loop, outermost first."""
        return [self.function.entry_block, *(op.regions[0].blocks[0] for op in (self.grid, self.loop))]

    @property
    def point(self) -> list[ir.Value]:
        """The coordinates of a point, then the iteration."""
        _, of_grid, of_loop = self.blocks
        return [*list(of_grid.arguments)[: len(self.points) - 1], of_loop.arguments[0]]


def _nest_of(loop: ir.OpView) -> _Nest:
    grid = loop.operation.parent.opview
    function = enclosing_function(loop)
    if grid.name != "scf.forall" or grid.operation.parent != function.operation:
        raise RewriteRefusedError(loop, "it does not stand in a grid of a function")
    first, end, step = (constant_index(bound) for bound in ForLoop(loop).bounds)
    if (first, step) != (0, 1) or end is None:
        raise RewriteRefusedError(loop, "it does not count from 0 to a known number")
    return _Nest(function, grid, loop, (*ir.DenseI64ArrayAttr(grid.attributes["staticUpperBound"]), end))


def _build_first(nest: _Nest, name: str, tiles: Sequence[ir.Value], workspaces: Sequence[Workspace]) -> None:
    needed = producers_in(nest.blocks, tiles)
    reads = frozenset(value for operation in needed for value in operands_within(operation))
    _check_independent(nest, reads)
    inputs = [argument for argument in nest.function.arguments if argument in reads]
    block = kernel_function(name, nest.function, [*inputs, *workspaces], len(workspaces))
    arguments = list(block.arguments)
    copies: Copies = dict(zip(inputs, arguments, strict=False))
    outside = nest.function.entry_block
    with ir.InsertionPoint(block):
        for operation in needed:
            if operation.operation.block == outside:
                copy_with(operation, copies)
        count = len(nest.points)
        grid = scf.ForallOp([0] * count, nest.points, [1] * count, arguments[len(inputs) :])
        with ir.InsertionPoint(grid.body):
            copies.update(zip(nest.point, grid.induction_variables, strict=True))
            for operation in needed:
                if operation.operation.block != outside:
                    copy_with(operation, copies)
            _leave([copies[tile] for tile in tiles], workspaces, grid)
        func.ReturnOp(list(grid.results))


def _check_independent(nest: _Nest, reads: frozenset[ir.Value]) -> None:
    _, of_grid, of_loop = nest.blocks
    handed_on = [*list(of_loop.arguments)[1:], *list(of_grid.arguments)[len(nest.points) - 1 :]]
    if any(value in reads for value in handed_on):
        raise RewriteRefusedError(nest.loop, "its iterations depend on each other")


def _leave(tiles: Sequence[ir.Value], workspaces: Sequence[Workspace], grid: scf.ForallOp) -> None:
    point, memories = list(grid.induction_variables), list(grid.inner_iter_args)
    left = [
        stored(_first_of(tile, workspace.tile.shape), workspace.block(memory, point))
        for tile, workspace, memory in zip(tiles, workspaces, memories, strict=True)
    ]
    in_parallel = scf.InParallelOp()
    with ir.InsertionPoint(in_parallel.block):
        for tile, workspace, memory in zip(left, workspaces, memories, strict=True):
            workspace.put(tile, memory, point)


def _first_of(value: ir.Value, sizes: Sequence[int]) -> ir.Value:
    is_whole = list(value.type.shape) == list(sizes)
    return value if is_whole else b.slice_of(value, [0] * len(sizes), list(sizes))


def _build_second(nest: _Nest, name: str, tiles: Sequence[ir.Value], workspaces: Sequence[Workspace]) -> None:
    """Build the kernel whose loop finds the tiles in memory; its first arguments are the workspaces."""
    entry, _, body = nest.blocks
    before = list(entry.arguments)
    memories = [entry.add_argument(workspace.type, nest.loop.location) for workspace in workspaces]
    with ir.InsertionPoint.at_block_begin(body):
        for tile, workspace, memory in zip(tiles, workspaces, memories, strict=True):
            kept = workspace.block(memory, nest.point)
            tile.replace_all_uses_with(padded(kept, tile.type.shape))
    erase_unused(nest.function)
    inputs = [argument for argument in before if list(argument.uses)]
    block = kernel_function(name, nest.function, [*workspaces, *inputs], len(nest.grid.results))
    copies: Copies = dict(zip([*memories, *inputs], block.arguments, strict=True))
    with ir.InsertionPoint(block):
        for operation in entry.operations:
            copy_with(operation, copies)

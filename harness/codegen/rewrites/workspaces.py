"""Memory between kernels: a block of it for each point of a grid."""

from collections.abc import Sequence
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import func

from harness.codegen.ir import builder as b
from harness.codegen.payloads.arguments import KernelArgument


@dataclass(frozen=True)
class Workspace:
    """Memory in which each point of a grid leaves a tile: `[grid …, tile …]`."""

    name: str
    points: tuple[int, ...]
    """Points along each axis of the grid."""
    tile: ir.RankedTensorType
    dimensions: tuple[str, ...]
    """Names of a tile's dimensions."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Its size along each dimension."""
        return (*self.points, *self.tile.shape)

    @property
    def type(self) -> ir.RankedTensorType:
        """Its type as an argument of a kernel."""
        return b.tensor_type(self.shape, str(self.tile.element_type))

    @property
    def attributes(self) -> ir.DictAttr:
        """Its attributes as an argument of a kernel."""
        axes = tuple(f"grid{axis}" for axis in range(len(self.points)))
        dtype = str(self.tile.element_type)
        named = KernelArgument(self.name, (*axes, *self.dimensions), self.shape, dtype, free_layout=True)
        return named.attributes()

    def block(self, memory: ir.Value, point: Sequence[ir.Value]) -> ir.Value:
        """Return the tile that is one point's."""
        offsets, sizes = self._place(point)
        return b.slice_of(memory, offsets, sizes, range(len(point), len(sizes)))

    def put(self, tile: ir.Value, memory: ir.Value, point: Sequence[ir.Value]) -> None:
        """Put a point's tile in its place; the insertion point is in a `scf.forall.in_parallel`."""
        b.parallel_insert(tile, memory, *self._place(point))

    def _place(self, point: Sequence[ir.Value]) -> tuple[list[b.Size], list[b.Size]]:
        return [*point, *[0] * self.tile.rank], [*[1] * len(point), *self.tile.shape]


def kernel_function(
    name: str, function: func.FuncOp, arguments: Sequence[Workspace | ir.Value], outputs: int
) -> ir.Block:
    """Add a kernel that takes workspaces and arguments of a function; returns its empty body.

    It writes its last arguments, so many of them, and returns them.
    """
    types = [argument.type for argument in arguments]
    kernel = func.FuncOp(name, (types, types[len(types) - outputs :]))
    kernel.arg_attrs = [
        argument.attributes
        if isinstance(argument, Workspace)
        else ir.DictAttr(function.arg_attrs[ir.BlockArgument(argument).arg_number])
        for argument in arguments
    ]
    return kernel.add_entry_block()

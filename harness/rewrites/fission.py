"""Split a grid loop in several kernels, with memory between them.

Loop distribution: the iterations of a grid are independent, so that what one loop does in two steps, two
loops can do one after the other, if each iteration leaves what its second step needs in a block of memory of
its own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import func, scf

from harness.ir import builder as b
from harness.payloads.arguments import KernelArgument
from harness.rewrites.errors import RewriteRefusedError
from harness.rewrites.structured import place_of


@dataclass(frozen=True)
class Kernel:
    """One of the kernels to make."""

    name: str
    result: ir.Value | None
    """The tile that it leaves in a workspace; None for the last kernel, which does what is left."""
    workspace: str | None = None
    """Name of that workspace, `[grid …, tile …]`; that of the kernel before is overwritten."""


def split_grid(function: func.FuncOp, kernels: Sequence[Kernel], dimensions: Sequence[str]) -> None:
    """Replace a function whose body is one `scf.forall` by kernels that run one after the other.

    Each kernel finds the tile of the kernel before it in a workspace, one block for each iteration; all tiles
    handed on have one type, with dimensions of these names.  Raises `RewriteRefusedError` where the function
    has another form.
    """
    forall = next((op for op in function.entry_block.operations if op.name == "scf.forall"), None)
    if forall is None or len(forall.results) != 1:
        raise RewriteRefusedError(function, "its body is not one grid loop with one result")
    _Fission(function, forall, kernels, dimensions).apply()
    function.operation.erase()


class _Fission:
    def __init__(
        self,
        function: func.FuncOp,
        forall: ir.OpView,
        kernels: Sequence[Kernel],
        dimensions: Sequence[str],
    ) -> None:
        self.function = function
        self.forall = forall
        self.kernels = kernels
        self.tiles = [kernel.result for kernel in kernels if kernel.result is not None]
        unknown = ir.ShapedType.get_dynamic_size()
        if unknown in list(ir.DenseI64ArrayAttr(forall.attributes["staticUpperBound"])):
            raise RewriteRefusedError(forall, "the number of its tiles is known only at run time")
        types = {str(tile.type) for tile in self.tiles}
        if len(types) != 1:
            raise RewriteRefusedError(
                forall, f"tiles of types {', '.join(sorted(types))} cannot share a workspace"
            )
        self.grid = list(ir.DenseI64ArrayAttr(forall.attributes["staticUpperBound"]))
        self.body = forall.regions[0].blocks[0]
        self.tile_shape = list(self.tiles[0].type.shape)
        self.dimensions = (*(f"grid{axis}" for axis in range(len(self.grid))), *dimensions)

    def apply(self) -> None:
        for number, kernel in enumerate(self.kernels):
            with ir.InsertionPoint(self.function), self.function.location:
                self._build(kernel, self.kernels[number - 1] if number else None)

    def _workspace(self, buffer: str | None) -> tuple[ir.Type, ir.DictAttr]:
        """Return type and attributes of the argument that is a workspace."""
        shape, dtype = (*self.grid, *self.tile_shape), b.dtype_of(self.tiles[0])
        argument = KernelArgument(str(buffer), self.dimensions, shape, dtype, free_layout=True)
        return b.tensor_type(shape, dtype), argument.attributes()

    def _build(self, kernel: Kernel, before: Kernel | None) -> None:
        available = [before.result] if before is not None and before.result is not None else []
        operations = list(self._needed(kernel, available))
        reads = {operand for operation in operations for operand in _operands_within(operation)}
        used = [argument for argument in self.function.arguments if argument in reads]
        reads_workspace = any(tile in reads for tile in available)
        arguments = [(argument.type, self._attributes(argument)) for argument in used]
        is_last = kernel.result is None
        output = self.function.arguments[self._output_position()]
        if is_last:
            arguments = [entry for entry, a in zip(arguments, used, strict=True) if a != output]
            used = [argument for argument in used if argument != output]
        reads_another = reads_workspace and before is not None and before.workspace != kernel.workspace
        if reads_another and before is not None:
            arguments.insert(0, self._workspace(before.workspace))
        if is_last:
            arguments.append((output.type, self._attributes(output)))
        else:
            arguments.append(self._workspace(kernel.workspace))
        types = [entry[0] for entry in arguments]
        made = func.FuncOp(kernel.name, (types, [types[-1]]))
        made.arg_attrs = [entry[1] for entry in arguments]
        block = made.add_entry_block()
        values = list(block.arguments)
        mapping: dict[ir.Value, ir.Value] = {}
        first_original = 1 if reads_another else 0
        mapping.update(zip(used, values[first_original:], strict=False))
        with ir.InsertionPoint(block):
            self._build_body(kernel, operations, available, mapping, values, reads_another)

    def _build_body(
        self,
        kernel: Kernel,
        operations: list[ir.OpView],
        available: list[ir.Value],
        mapping: dict[ir.Value, ir.Value],
        arguments: list[ir.Value],
        reads_another: bool,
    ) -> None:
        outside = [op for op in operations if op.operation.block != self.body]
        for operation in outside:
            _copy(operation, mapping)
        loop = scf.ForallOp([0] * len(self.grid), self.grid, [1] * len(self.grid), [arguments[-1]])
        with ir.InsertionPoint(loop.body):
            points = list(loop.induction_variables)
            shared = loop.inner_iter_args[0]
            mapping.update(zip(list(self.body.arguments), [*points, shared], strict=False))
            place = [*points, *[0] * len(self.tile_shape)]
            sizes = [1] * len(self.grid) + self.tile_shape
            kept = range(len(self.grid), len(sizes))
            source = arguments[0] if reads_another else shared
            for tile in available:
                mapping[tile] = b.slice_of(source, place, sizes, kept)
            if kernel.result is not None:
                empty = place_of(kernel.result)
                if isinstance(empty, ir.OpResult) and empty.owner.name == "tensor.empty":
                    mapping[empty] = b.slice_of(shared, place, sizes, kept)
            for operation in operations:
                if operation.operation.block == self.body and not set(operation.results) & set(mapping):
                    _copy(operation, mapping)
            if kernel.result is not None:
                in_parallel = scf.InParallelOp()
                with ir.InsertionPoint(in_parallel.block):
                    b.parallel_insert(mapping[kernel.result], shared, place, sizes)
        func.ReturnOp([loop.results[0]])

    def _needed(self, kernel: Kernel, available: list[ir.Value]) -> Iterator[ir.OpView]:
        """Yield the operations that compute the kernel's tile, in order."""
        needed: set[ir.Operation] = set()
        if kernel.result is None:
            terminator = self.body.operations[len(self.body.operations) - 1]
            pending = _operands_within(terminator)
            needed.add(terminator.operation)
        else:
            pending = [kernel.result]
        while pending:
            value = pending.pop()
            if value in available or not isinstance(value, ir.OpResult):
                continue
            owner = ir.OpResult(value).owner
            if owner not in needed:
                needed.add(owner)
                pending += _operands_within(owner.opview)
        for block in (self.function.entry_block, self.body):
            for operation in block.operations:
                if operation.operation in needed and operation.operation != self.forall.operation:
                    yield operation

    def _output_position(self) -> int:
        return len(self.function.arguments) - 1

    def _attributes(self, argument: ir.Value) -> ir.DictAttr:
        return ir.DictAttr(self.function.arg_attrs[ir.BlockArgument(argument).arg_number])


def _copy(operation: ir.OpView, mapping: dict[ir.Value, ir.Value]) -> None:
    copy = operation.operation.clone()
    _remap(copy.opview, mapping)
    mapping.update(zip(operation.results, copy.results, strict=True))


def _remap(operation: ir.OpView, mapping: dict[ir.Value, ir.Value]) -> None:
    for position, operand in enumerate(operation.operands):
        if operand in mapping:
            operation.operands[position] = mapping[operand]
    for region in operation.regions:
        for block in region.blocks:
            for nested in block.operations:
                _remap(nested, mapping)


def _operands_within(operation: ir.OpView) -> list[ir.Value]:
    operands = list(operation.operands)
    for region in operation.regions:
        for block in region.blocks:
            for nested in block.operations:
                operands += _operands_within(nested)
    return operands

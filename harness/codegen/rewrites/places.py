"""Where a tensor is computed into, and sizes that are known only at run time.

A `tensor.dim` of a result makes whatever needs the size depend on the whole operation that computes it, which
fusion is to replace by tiles.  The size is that of the place, too, and is taken from there.
"""

from mlir import ir

from harness.codegen.ir import builder as b
from harness.codegen.ir.constants import constant_index
from harness.codegen.ir.slices import kept_dimensions, mixed_values
from harness.codegen.ir.walk import operations_within
from harness.codegen.rewrites.structured import view_of


def place_of(value: ir.Value) -> ir.Value:
    """Return the tensor that a value is computed into: through `outs` to a new tensor, argument or slice."""
    while isinstance(value, ir.OpResult):
        view = view_of(ir.OpResult(value).owner.opview)
        if view is None:
            break
        value = view.operation.operands[view.init_operands[ir.OpResult(value).result_number]]
    return value


def reads_place(value: ir.Value) -> bool:
    """Whether a value depends on what is in the tensor that it is computed into."""
    while isinstance(value, ir.OpResult):
        if value.owner.name == "tensor.empty":
            return False
        view = view_of(ir.OpResult(value).owner.opview)
        if view is None:
            break
        result = ir.OpResult(value).result_number
        if not view.reads_init(result):
            return False
        value = view.operation.operands[view.init_operands[result]]
    return True


def resolve_sizes(root: ir.Module | ir.OpView) -> int:
    """Take each `tensor.dim` within from the tensor that its source is computed into; returns how many moved.

    Of a new tensor and of a slice it is the size that these were given.
    """
    dimensions = [op for op in operations_within(root.operation) if op.name == "tensor.dim"]
    return sum(_resolve(dimension) for dimension in dimensions)


def _resolve(dimension: ir.OpView) -> bool:
    source, axis = dimension.operands[0], constant_index(dimension.operands[1])
    place = place_of(source)
    if axis is None or not isinstance(source, ir.OpResult):
        return False
    size = _given_size(place, axis)
    if size is None and place == source:
        return False
    with ir.InsertionPoint(dimension), dimension.location:
        if size is None:
            size = b.size_of(place, axis)
        value = b.index(size) if isinstance(size, int) else size
    number = dimension.operands[1].owner
    dimension.results[0].replace_all_uses_with(value)
    dimension.operation.erase()
    if not list(number.results[0].uses):
        number.erase()
    return True


def _given_size(place: ir.Value, axis: int) -> b.Size | None:
    """Return the size of a tensor that its operation was given; None for what has none."""
    producer = place.owner.opview if isinstance(place, ir.OpResult) else None
    if producer is None:
        return None
    if producer.name == "tensor.empty":
        sizes = iter(producer.operands)
        of_axes = [next(sizes) if place.type.is_dynamic_dim(each) else None for each in range(axis + 1)]
        return place.type.shape[axis] if of_axes[axis] is None else of_axes[axis]
    if producer.name == "tensor.extract_slice":
        return mixed_values(producer, "sizes")[kept_dimensions(producer, place)[axis]]
    return None

"""What slices, pads and reshapes of tensors and memory say about offsets, sizes and dimensions."""

from mlir import ir

from harness.codegen.ir.builder import Size


def kept_dimensions(operation: ir.OpView, tile: ir.Value) -> list[int]:
    """Return which dimensions of the whole tensor a possibly rank-reduced slice keeps.

    Where several dimensions of size 1 could have been dropped, the first of them are: MLIR matches sizes with
    the tile's shape from the last dimension on (`getDroppedDims` of `tensor.extract_slice`).
    """
    sizes = list(ir.DenseI64ArrayAttr(operation.attributes["static_sizes"]))
    shape = list(tile.type.shape)
    kept: list[int] = []
    for position in reversed(range(len(sizes))):
        if shape and sizes[position] == shape[-1]:
            kept.insert(0, position)
            shape.pop()
    return kept


def mixed_values(operation: ir.OpView, kind: str) -> list[Size]:
    """Return the `offsets`, `sizes` or `strides` of a slice, or the `low` or `high` padding of a pad."""
    static = list(ir.DenseI64ArrayAttr(operation.attributes[f"static_{kind}"]))
    dynamic = iter(getattr(operation, kind))
    unknown = ir.ShapedType.get_dynamic_size()
    return [next(dynamic) if value == unknown else value for value in static]


def reassociation(operation: ir.OpView) -> list[list[int]]:
    """Return the groups of dimensions that an expand_shape or collapse_shape splits or joins."""
    groups = ir.ArrayAttr(operation.attributes["reassociation"])
    return [[ir.IntegerAttr(axis).value for axis in ir.ArrayAttr(group)] for group in groups]

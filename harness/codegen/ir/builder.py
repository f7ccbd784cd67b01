"""Small helpers over the MLIR Python bindings to write linalg on tensors legibly.

Structured operations are written with subscripts as in `numpy.einsum`: `structured("qd,kd->qk", …)` has
the loops q, k (parallel) and d (reduction).  All helpers insert at the current insertion point.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from mlir import ir
from mlir.dialects import affine, arith, linalg, tensor

Body = Callable[..., ir.Value]
"""From scalars to a scalar."""
Size: TypeAlias = ir.Value | int
"""A size, an offset or a loop bound: static, or a value of type index."""
Expressions = Callable[..., Sequence["ir.AffineExpr | int"]]


def element_type(dtype: str) -> ir.Type:
    """Return the MLIR type of a dtype name (`f32`, `f16`, `bf16`)."""
    return ir.Type.parse(dtype)


def tensor_type(shape: Sequence[int], dtype: str) -> ir.RankedTensorType:
    """Return `tensor<shape x dtype>`."""
    return ir.RankedTensorType.get(shape, element_type(dtype))


def constant(value: float, dtype: str = "f32") -> ir.Value:
    """Return a floating-point constant."""
    return arith.constant(element_type(dtype), value)


def zero(dtype: str) -> ir.Value:
    """Return 0 of any element type."""
    kind = element_type(dtype)
    return arith.constant(kind, 0 if isinstance(kind, ir.IntegerType) else 0.0)


def index(value: int) -> ir.Value:
    """Return a constant of type index."""
    return arith.constant(ir.IndexType.get(), value)


def integer(value: int) -> ir.Value:
    """Return an integer constant of 32 bits."""
    return arith.constant(ir.IntegerType.get_signless(32), value)


def dtype_of(value: ir.Value) -> str:
    """Return the dtype name of a tensor's elements or of a scalar."""
    if isinstance(value.type, ir.RankedTensorType):
        return str(ir.RankedTensorType(value.type).element_type)
    return str(value.type)


def sizes_of(value: ir.Value) -> list[Size]:
    """Return the shape of a tensor value, a `tensor.dim` for each dynamic size."""
    return [size_of(value, axis) for axis in range(value.type.rank)]


def size_of(value: ir.Value, axis: int) -> Size:
    """Return one size of a tensor value, a `tensor.dim` if it is dynamic."""
    if value.type.is_dynamic_dim(axis):
        return tensor.dim(value, index(axis))
    return value.type.shape[axis]


def empty(shape: Sequence[Size], dtype: str = "f32") -> ir.Value:
    """Return a tensor without defined contents."""
    return tensor.empty(list(shape), element_type(dtype))


def empty_like(value: ir.Value) -> ir.Value:
    """Return a tensor of the same type without defined contents."""
    return tensor.empty(sizes_of(value), value.type.element_type)


def filled(value: float, shape: Sequence[Size], dtype: str = "f32") -> ir.Value:
    """Return a tensor with every element equal to `value`."""
    scalar = integer(int(value)) if dtype == "i32" else constant(value, dtype)
    return linalg.fill(scalar, outs=[empty(shape, dtype)])


def affine_value(expression: Callable[..., ir.AffineExpr], *operands: ir.Value) -> ir.Value:
    """Return `expression(d0, d1, …)` of index operands as one `affine.apply`."""
    dims = [ir.AffineDimExpr.get(position) for position in range(len(operands))]
    mapping = ir.AffineMap.get(len(operands), 0, [expression(*dims)])
    return affine.AffineApplyOp(mapping, list(operands)).result


def affine_minimum(expressions: Expressions, *operands: ir.Value) -> ir.Value:
    """Return the least of several affine expressions of index operands."""
    return affine.AffineMinOp(_results_map(expressions, operands), list(operands)).result


def affine_maximum(expressions: Expressions, *operands: ir.Value) -> ir.Value:
    """Return the largest of several affine expressions of index operands."""
    return affine.AffineMaxOp(_results_map(expressions, operands), list(operands)).result


def _results_map(expressions: Expressions, operands: Sequence[ir.Value]) -> ir.AffineMap:
    dims = [ir.AffineDimExpr.get(position) for position in range(len(operands))]
    results = [
        ir.AffineConstantExpr.get(result) if isinstance(result, int) else result
        for result in expressions(*dims)
    ]
    return ir.AffineMap.get(len(operands), 0, results)


def structured(
    subscripts: str,
    inputs: Sequence[ir.Value],
    init: ir.Value,
    body: Body,
    *,
    takes_init: bool | None = None,
) -> ir.Value:
    """Build a `linalg.generic` with one result.

    Args:
        subscripts: `ab,bc->ac`; a letter that the result lacks is a reduction.
        inputs: tensors, one per subscript before the arrow.
        init: the result's initial contents (`outs`).
        body: gets one scalar per input, then `init`'s scalar if there is a reduction or `takes_init`;
            returns the result's scalar.  It may call `loop_index`.
        takes_init: whether the body gets the scalar of `init`.
    """
    before, _, result = subscripts.partition("->")
    operands = before.split(",") if inputs else []
    order = "".join(dict.fromkeys(result + "".join(operands)))
    reduces = any(letter not in result for letter in order)
    maps = [
        ir.AffineMap.get(len(order), 0, [ir.AffineDimExpr.get(order.index(letter)) for letter in subscript])
        for subscript in [*operands, result]
    ]
    iterators = ["parallel" if letter in result else "reduction" for letter in order]
    operation = linalg.GenericOp(
        [init.type],
        list(inputs),
        [init],
        ir.ArrayAttr.get([ir.AffineMapAttr.get(mapping) for mapping in maps]),
        ir.ArrayAttr.get([ir.Attribute.parse(f"#linalg.iterator_type<{kind}>") for kind in iterators]),
    )
    element_types = [ir.RankedTensorType(value.type).element_type for value in [*inputs, init]]
    block = operation.regions[0].blocks.append(*element_types)
    with ir.InsertionPoint(block):
        arguments = list(block.arguments)
        if not (reduces if takes_init is None else takes_init):
            arguments = arguments[:-1]
        linalg.YieldOp([body(*arguments)])
    return operation.results[0]


def elementwise(value: ir.Value, body: Body, dtype: str | None = None) -> ir.Value:
    """Build a new tensor of an operation on each element, in the dtype of the source if not told."""
    axes = "abcdefghijkl"[: value.type.rank]
    return structured(f"{axes}->{axes}", [value], empty(sizes_of(value), dtype or dtype_of(value)), body)


def loop_index(position: int) -> ir.Value:
    """Return the current index of a structured operation's loop, as a 32-bit integer."""
    return as_i32(linalg.IndexOp(position).result)


def as_i32(value: ir.Value) -> ir.Value:
    """Return an index as a 32-bit integer, which is what vectors of positions are made of."""
    return arith.index_cast(ir.IntegerType.get_signless(32), value)


def widen(value: ir.Value, dtype: str = "f32") -> ir.Value:
    """Return a scalar in a dtype that is at least as wide."""
    target = element_type(dtype)
    return value if value.type == target else arith.extf(target, value)


def narrow(value: ir.Value, dtype: str) -> ir.Value:
    """Return an f32 scalar rounded to `dtype`."""
    target = element_type(dtype)
    return value if value.type == target else arith.truncf(target, value)


def slice_of(
    source: ir.Value, offsets: Sequence[Size], sizes: Sequence[Size], keep: Sequence[int] | None = None
) -> ir.Value:
    """Return a slice of a tensor, reduced to the dimensions in `keep`; the others have size 1."""
    _, shape = split_sizes(sizes if keep is None else [sizes[axis] for axis in keep])
    result = ir.RankedTensorType.get(shape, ir.RankedTensorType(source.type).element_type)
    return slice_as(result, source, offsets, sizes)


def slice_as(kind: ir.Type, source: ir.Value, offsets: Sequence[Size], sizes: Sequence[Size]) -> ir.Value:
    """Return a slice of a tensor in a type that lacks some of its dimensions of size 1."""
    return tensor.ExtractSliceOp(kind, source, *_place(offsets, sizes)).result


def insert(
    source: ir.Value, destination: ir.Value, offsets: Sequence[Size], sizes: Sequence[Size]
) -> ir.Value:
    """Return `destination` with a (possibly rank-reduced) tile replaced by `source`."""
    return tensor.InsertSliceOp(source, destination, *_place(offsets, sizes)).result


def parallel_insert(
    source: ir.Value, destination: ir.Value, offsets: Sequence[Size], sizes: Sequence[Size]
) -> None:
    """Publish a tile from inside `scf.forall.in_parallel`."""
    tensor.ParallelInsertSliceOp(source, destination, *_place(offsets, sizes))


def pad(
    source: ir.Value, low: Sequence[Size], high: Sequence[Size], sizes: Sequence[Size], value: ir.Value
) -> ir.Value:
    """Return a tensor of these sizes: a value before and behind the source, so often along each dimension."""
    dynamic_low, static_low = split_sizes(low)
    dynamic_high, static_high = split_sizes(high)
    kind = ir.RankedTensorType.get(split_sizes(sizes)[1], source.type.element_type)
    operation = tensor.PadOp(kind, source, dynamic_low, dynamic_high, static_low, static_high)
    block = operation.regions[0].blocks.append(*[ir.IndexType.get()] * source.type.rank)
    with ir.InsertionPoint(block):
        tensor.YieldOp(value)
    return operation.result


def _place(offsets: Sequence[Size], sizes: Sequence[Size]) -> tuple[Sequence[ir.Value | int], ...]:
    """Return what operations on slices take: dynamic and static offsets, sizes and strides."""
    dynamic_offsets, static_offsets = split_sizes(offsets)
    dynamic_sizes, static_sizes = split_sizes(sizes)
    return dynamic_offsets, dynamic_sizes, [], static_offsets, static_sizes, [1] * len(sizes)


def split_sizes(sizes: Sequence[Size]) -> tuple[list[ir.Value], list[int]]:
    """Split offsets or sizes into the dynamic ones and the static ones with markers for the dynamic."""
    dynamic = [size for size in sizes if not isinstance(size, int)]
    unknown = ir.ShapedType.get_dynamic_size()
    return dynamic, [size if isinstance(size, int) else unknown for size in sizes]

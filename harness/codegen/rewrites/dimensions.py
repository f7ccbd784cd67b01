"""Sizes of tensors, followed back to where they come from.

`tensor.dim` of a computed tensor makes the whole computation look needed, and so keeps it out of fusion
(slides *Linalg Fusion Enhancement*, "simplify tensor dim").  Every tensor operation here has a result as
large as something that exists before it: its `outs`, a size operand, or sizes of its source.
"""

import math

from mlir import ir
from mlir.dialects import tensor

from harness.codegen.dialect import operations as attn
from harness.codegen.ir import builder as b
from harness.codegen.ir.constants import constant_index
from harness.codegen.ir.slices import kept_dimensions, mixed_values, reassociation
from harness.codegen.ir.walk import operations_within
from harness.codegen.rewrites.dependencies import erase_dead
from harness.codegen.rewrites.ranges import Range, Ranges, add, as_value, multiply
from harness.codegen.rewrites.structured import StructuredView, view_of


def size_of(value: ir.Value, axis: int) -> b.Size:
    """Return one size of a tensor, a `tensor.dim` of a function argument at worst.

    New operations go to the current insertion point.
    """
    if not value.type.is_dynamic_dim(axis):
        return value.type.shape[axis]
    if isinstance(value, ir.BlockArgument):
        initial = _carried_initial(value)
        return tensor.dim(value, b.index(axis)) if initial is None else size_of(initial, axis)
    producer = ir.OpResult(value).owner.opview
    if producer.name in ("scf.for", "scf.forall"):
        first = len(producer.operands) - len(producer.results)
        return size_of(producer.operands[first + ir.OpResult(value).result_number], axis)
    view = view_of(producer)
    if view is not None:
        return size_of(producer.operands[view.init_operands[ir.OpResult(value).result_number]], axis)
    size = _size_of_moved(producer, axis)
    return tensor.dim(value, b.index(axis)) if size is None else size


def sizes_of(value: ir.Value) -> list[b.Size]:
    """Return all sizes of a tensor."""
    return [size_of(value, axis) for axis in range(value.type.rank)]


def whole_loop(view: StructuredView, loop: int) -> Range:
    """Return the range of a whole loop; its size is made at the current insertion point."""
    return Range(0, size_of(*view.axis_of_loop(loop)), is_whole=True)


def whole_loops(view: StructuredView) -> Ranges:
    """Return the ranges of all loops, whole."""
    return tuple(whole_loop(view, loop) for loop in range(view.loop_count))


def loop_ranges(view: StructuredView, result: int, ranges: Ranges) -> Ranges:
    """Return the ranges of all loops that a tile of one result needs: the others run whole."""
    by_loop = dict(zip(view.result_loops[result], ranges, strict=True))
    return tuple(
        by_loop[loop] if loop in by_loop else whole_loop(view, loop) for loop in range(view.loop_count)
    )


def uses_of_elements(value: ir.Value) -> list[ir.OpOperand]:
    """Return the uses of a tensor but for those that ask for its size."""
    return [use for use in value.uses if use.owner.name != "tensor.dim"]


def simplify_dims(root: ir.Module | ir.OpView) -> int:
    """Replace every `tensor.dim` of a computed tensor by where the size comes from; returns how many."""
    operation = root.operation if isinstance(root, ir.Module) else root
    count = 0
    for dim in list(operations_within(operation)):
        if dim.name != "tensor.dim":
            continue
        axis = constant_index(dim.operands[1])
        if axis is None:
            continue
        with ir.InsertionPoint(dim), dim.location:
            size = as_value(size_of(dim.operands[0], axis))
        is_same = (
            isinstance(size, ir.OpResult)
            and size.owner.name == "tensor.dim"
            and (size.owner.operands[0] == dim.operands[0])
        )
        if is_same:
            erase_dead([ir.OpResult(size.owner.operands[1]).owner.opview, size.owner.opview])
            continue
        dim.results[0].replace_all_uses_with(size)
        dim.operation.erase()
        count += 1
    return count


def _size_of_moved(producer: ir.OpView, axis: int) -> b.Size | None:
    """Return a size of the result of an operation that allocates, reshapes, slices or pads."""
    if producer.name == "tensor.empty":
        dynamic = [
            a for a in range(producer.results[0].type.rank) if producer.results[0].type.is_dynamic_dim(a)
        ]
        return producer.operands[dynamic.index(axis)]
    if producer.name == "tensor.extract_slice":
        kept = kept_dimensions(producer, producer.results[0])
        return mixed_values(producer, "sizes")[kept[axis]]
    if producer.name == "tensor.insert_slice":
        return size_of(producer.operands[1], axis)
    if producer.name == "tensor.expand_shape":
        static = list(ir.DenseI64ArrayAttr(producer.attributes["static_output_shape"]))
        unknown = ir.ShapedType.get_dynamic_size()
        return producer.operands[1 + static[:axis].count(unknown)]
    if producer.name == "tensor.collapse_shape":
        sizes = [size_of(producer.operands[0], source) for source in reassociation(producer)[axis]]
        dynamic_sizes = [size for size in sizes if not isinstance(size, int)]
        static_product = math.prod(size for size in sizes if isinstance(size, int))
        return multiply(dynamic_sizes[0], static_product) if len(dynamic_sizes) == 1 else None
    if producer.name == "tensor.pad":
        low, high = mixed_values(producer, "low")[axis], mixed_values(producer, "high")[axis]
        return add(add(size_of(producer.operands[0], axis), low), high)
    if producer.name in attn.MASKS:
        return size_of(producer.operands[0], axis)
    return None


def _carried_initial(argument: ir.BlockArgument) -> ir.Value | None:
    """Return what a loop-carried block argument starts from."""
    owner = argument.owner.owner
    if owner.name not in ("scf.for", "scf.forall") or not isinstance(argument.type, ir.RankedTensorType):
        return None
    arguments = list(argument.owner.arguments)
    first_argument = len(arguments) - len(owner.results)
    first_operand = len(owner.operands) - len(owner.results)
    return owner.operands[first_operand + argument.arg_number - first_argument]

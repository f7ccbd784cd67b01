"""Tensors and memrefs: making them, viewing them, moving single elements, and where results are stored."""

from mlir import ir

from harness.codegen.costs.expressions import (
    Constant,
    Expression,
    Unknown,
    Variable,
    computed,
    product,
    same,
)
from harness.codegen.costs.memory import DYNAMIC, Buffer, Level, Memory, sliced, stored_integer
from harness.codegen.costs.trees import NOTHING, CostTree, nest, sequence
from harness.codegen.costs.walk import Handler, Walk, body_of, is_integer, nothing, operand_groups
from harness.codegen.ir.slices import kept_dimensions, reassociation


def either(first: Memory, second: Memory) -> Memory:
    """Return memory that is one or the other; `first` itself if nothing is lost by calling it so.

    Two scratch buffers are one: which temporary it is does not matter.
    """
    is_scratch = first.buffer.level is Level.SCRATCH and second.buffer.level is Level.SCRATCH
    buffer = first.buffer
    if first.buffer is not second.buffer and not is_scratch:
        buffer = first.buffer if _undetermined(first) else Buffer(Level.UNDETERMINED)
    shape = tuple(_either_size(a, b) for a, b in zip(first.shape, second.shape, strict=True))
    followed = buffer.contents is None or first.place is second.place
    unchanged = buffer is first.buffer and all(map(same, shape, first.shape))
    if unchanged and followed:
        return first
    return Memory(buffer, shape, first.element, first.place if followed else None)


def _undetermined(memory: Memory) -> bool:
    return memory.buffer.level is Level.UNDETERMINED


def _either_size(first: Expression, second: Expression) -> Expression:
    if same(first, second) or isinstance(first, Unknown):
        return first
    return Unknown("a tensor that loops or branches pass on changes its size")


def insert(walk: Walk, operation: ir.OpView) -> CostTree:
    """Count the insertion of a tile: a copy, but nothing if the tile was computed in place.

    In place means that the tile is stored in the buffer that it is inserted into.
    """
    source, destination = (walk.memory(value) for value in list(operation.operands)[:2])
    for result in operation.results:
        walk.define(result, destination)
    return NOTHING if source.buffer is destination.buffer else copied(source, destination)


def copied(source: Memory, destination: Memory) -> CostTree:
    """Return the cost of copying all of `source` into a place of its size in `destination`."""
    written = Memory(destination.buffer, source.shape, destination.element)
    return sequence([source.reads(), written.writes()])


def _shape_with(walk: Walk, kind: ir.Type, dynamic: list[ir.Value]) -> list[Expression]:
    remaining = iter(dynamic)
    return [walk.integer(next(remaining)) if size == DYNAMIC else Constant(size) for size in kind.shape]


def _allocate(walk: Walk, operation: ir.OpView) -> CostTree:
    has_groups = "operandSegmentSizes" in operation.attributes
    dynamic = operand_groups(operation)[0] if has_groups else list(operation.operands)
    result = operation.results[0]
    walk.fresh(result, _shape_with(walk, result.type, dynamic))
    return NOTHING


def _slice(walk: Walk, operation: ir.OpView) -> CostTree:
    (source,), offsets, sizes, strides = operand_groups(operation)
    walk.define(
        operation.results[0],
        sliced(
            walk.memory(source),
            walk.mixed(operation, "static_offsets", offsets),
            walk.mixed(operation, "static_sizes", sizes),
            walk.mixed(operation, "static_strides", strides),
            kept_dimensions(operation, operation.results[0]),
        ),
    )
    return NOTHING


def _same_memory(walk: Walk, operation: ir.OpView) -> CostTree:
    for result in operation.results:
        walk.define(result, walk.memory(operation.operands[0]))
    return NOTHING


def _expand(walk: Walk, operation: ir.OpView) -> CostTree:
    source, *dynamic = operation.operands
    shape = walk.mixed(operation, "static_output_shape", dynamic)
    walk.define(operation.results[0], walk.memory(source).viewed(shape))
    return NOTHING


def _collapse(walk: Walk, operation: ir.OpView) -> CostTree:
    source = walk.memory(operation.operands[0])
    shape = [product([source.shape[position] for position in group]) for group in reassociation(operation)]
    walk.define(operation.results[0], source.viewed(shape))
    return NOTHING


def _view(walk: Walk, operation: ir.OpView) -> CostTree:
    source, _, *dynamic = operation.operands
    result = operation.results[0]
    buffer = walk.memory(source).buffer
    shape = tuple(_shape_with(walk, result.type, dynamic))
    walk.define(result, Memory(buffer, shape, result.type.element_type, None))
    return NOTHING


def _dimension(walk: Walk, operation: ir.OpView) -> CostTree:
    source, position = operation.operands
    number = walk.integer(position)
    shape = walk.memory(source).shape
    is_known = isinstance(number, Constant) and 0 <= number.number < len(shape)
    if is_known:
        walk.define(operation.results[0], shape[number.number])  # type: ignore[attr-defined]
    return NOTHING


def _load(walk: Walk, operation: ir.OpView) -> CostTree:
    source, *indices = operation.operands
    memory = walk.memory(source)
    result = operation.results[0]
    if is_integer(result.type):
        name = memory.buffer.name
        element = stored_integer(memory, [walk.integer(index) for index in indices], operation.name)
        where = f"buffer {name!r}; pass its contents as known" if name else "a temporary"
        unknown = Unknown(f"{operation.name}: what is executed depends on an integer in {where}")
        walk.define(result, element or unknown)
    return memory.reads_elements(1)


def _insert_element(walk: Walk, operation: ir.OpView) -> CostTree:
    memory = walk.memory(operation.operands[1])
    for result in operation.results:
        walk.define(result, memory)
    return memory.writes_elements(1)


def _pad(walk: Walk, operation: ir.OpView) -> CostTree:
    (source,), low, high = operand_groups(operation)
    memory = walk.memory(source)
    paddings = zip(
        memory.shape,
        walk.mixed(operation, "static_low", low),
        walk.mixed(operation, "static_high", high),
        strict=True,
    )
    result = walk.fresh(
        operation.results[0], [computed(lambda *sizes: sum(sizes), *sizes) for sizes in paddings]
    )
    body = body_of(operation)
    variables = [Variable() for _ in result.shape]
    for argument, variable in zip(body.arguments, variables, strict=True):
        walk.define(argument, variable)
    return sequence([memory.reads(), nest(variables, result.shape, walk.block(body)), result.writes()])


def _copy(walk: Walk, operation: ir.OpView) -> CostTree:
    source, destination = (walk.memory(value) for value in operation.operands)
    return copied(source, destination)


_BY_NAMES: dict[Handler, str] = {
    _allocate: "tensor.empty memref.alloc memref.alloca",
    _slice: "tensor.extract_slice memref.subview",
    _expand: "tensor.expand_shape memref.expand_shape",
    _collapse: "tensor.collapse_shape memref.collapse_shape",
    _dimension: "tensor.dim memref.dim",
    _load: "tensor.extract memref.load",
    _insert_element: "tensor.insert memref.store",
    _same_memory: "tensor.cast memref.cast memref.assume_alignment memref.memory_space_cast "
    "bufferization.to_tensor bufferization.to_buffer",
    insert: "tensor.insert_slice bufferization.materialize_in_destination",
    nothing: "memref.dealloc tensor.yield",
    _copy: "memref.copy",
    _pad: "tensor.pad",
    _view: "memref.view",
}
TENSORS = {name: handler for handler, names in _BY_NAMES.items() for name in names.split()}

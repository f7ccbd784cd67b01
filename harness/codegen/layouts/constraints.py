"""What operations demand of the layouts of their operands and results: one rule a function.

A rule yields links between two values.  A link says which layout one end has when the other's is known, or
that it does not follow.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mlir import ir

from harness.codegen.ir.for_loop import ForLoop
from harness.codegen.ir.walk import producer_of
from harness.codegen.layouts.layout import Layout

WORKGROUP_SPACE = "#gpu.address_space<workgroup>"

Change = Callable[[Layout], Layout]


@dataclass(frozen=True)
class Link:
    """A demand on the layouts of two values."""

    source: ir.Value
    target: ir.Value
    forward: Change | None
    """From the source's layout to the target's; None where it does not follow."""
    backward: Change | None


def links(operation: ir.OpView) -> Iterator[Link]:
    """Yield the links of an operation."""
    rule = RULES.get(operation.name)
    if rule is not None:
        yield from rule(operation)
    elif operation.name.startswith(ELEMENTWISE):
        yield from _elementwise(operation)


def is_vector(value: ir.Value) -> bool:
    """Return whether a value is distributed."""
    return isinstance(value.type, ir.VectorType)


def in_shared_memory(buffer: ir.Value) -> bool:
    """Return whether a buffer is in the memory of a workgroup."""
    return str(ir.MemRefType(buffer.type).memory_space) == WORKGROUP_SPACE


def is_copy(write: ir.OpView) -> bool:
    """Return whether a `vector.transfer_write` fills shared memory with what was read from elsewhere."""
    read = _read_of(write.operands[0])
    return read is not None and in_shared_memory(write.operands[1]) and not in_shared_memory(read.operands[0])


def transposed_on_its_way(write: ir.OpView) -> ir.OpView | None:
    """Return the `vector.transfer_read` of a tile that a write puts into shared memory transposed, if any."""
    transpose = producer_of(write.operands[0])
    if transpose is None or transpose.name != "vector.transpose" or not in_shared_memory(write.operands[1]):
        return None
    read = _read_of(transpose.operands[0])
    return None if read is None or in_shared_memory(read.operands[0]) else read


def is_copy_out(write: ir.OpView) -> bool:
    """Return whether a `vector.transfer_write` takes elsewhere what was read from shared memory."""
    read = _read_of(write.operands[0])
    return read is not None and not in_shared_memory(write.operands[1]) and in_shared_memory(read.operands[0])


def _read_of(value: ir.Value) -> ir.OpView | None:
    producer = producer_of(value)
    return producer if producer is not None and producer.name == "vector.transfer_read" else None


def same(layout: Layout) -> Layout:
    """Return the layout."""
    return layout


def transposed(layout: Layout) -> Layout:
    """Return the layout of the transposed value."""
    return layout.transposed()


def reduced_axis(reduction: ir.OpView) -> int:
    """Return the axis that a `vector.multi_reduction` reduces."""
    (axis,) = ir.DenseI64ArrayAttr(reduction.attributes["reduction_dims"])
    return axis


def _elementwise(operation: ir.OpView) -> Iterator[Link]:
    """All vectors of an elementwise operation lie the same way."""
    for result in operation.results:
        for operand in operation.operands:
            if is_vector(operand) and is_vector(result):
                yield Link(operand, result, same, same)


def _contraction(operation: ir.OpView) -> Iterator[Link]:
    """A product lies as what it is added to."""
    yield Link(operation.operands[2], operation.results[0], same, same)


def _reduction(operation: ir.OpView) -> Iterator[Link]:
    """What is left of a reduced axis lies where the source has it, in all lanes along that axis."""
    axis = reduced_axis(operation)
    source, start = operation.operands
    yield Link(source, operation.results[0], lambda layout: layout.slice(axis), None)
    yield Link(start, operation.results[0], same, same)


def _broadcast(operation: ir.OpView) -> Iterator[Link]:
    """A value is broadcast along a new first axis by every lane for itself."""
    (source,) = operation.operands
    if is_vector(source):
        yield Link(source, operation.results[0], None, lambda layout: layout.slice(0))


def _transpose(operation: ir.OpView) -> Iterator[Link]:
    """Nothing moves when a value is transposed: its layout is."""
    yield Link(operation.operands[0], operation.results[0], transposed, transposed)


def _loop(operation: ir.OpView) -> Iterator[Link]:
    """A value that a loop carries lies the same way in every iteration, before and after."""
    loop = ForLoop(operation)
    carried = zip(loop.initial_values, loop.carried, loop.yielded, operation.results, strict=True)
    for start, inside, yielded, result in carried:
        if is_vector(result):
            yield Link(inside, result, same, same)
            yield Link(start, inside, same, same)
            yield Link(yielded, inside, same, same)


ELEMENTWISE = ("arith.", "math.")
"""How the names of elementwise operations begin."""

RULES: dict[str, Callable[[ir.OpView], Iterator[Link]]] = {
    "scf.for": _loop,
    "vector.broadcast": _broadcast,
    "vector.contract": _contraction,
    "vector.multi_reduction": _reduction,
    "vector.transpose": _transpose,
}

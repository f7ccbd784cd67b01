"""Which memory a tensor or memref is: its buffer, its shape, and where a slice lies in it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

import numpy as np
from mlir import ir

from harness.codegen.costs.costs import NotCountable
from harness.codegen.costs.expressions import Constant, Expression, computed, product
from harness.codegen.costs.trees import CostTree, Fixed, repeated

DYNAMIC = ir.ShapedType.get_dynamic_size()


class Level(Enum):
    """What kind of memory a buffer is in."""

    ARGUMENT = auto()
    WORKSPACE = auto()
    SCRATCH = auto()
    UNDETERMINED = auto()


@dataclass(eq=False)
class Buffer:
    """A piece of memory with a name of its own; every allocation is another one."""

    level: Level
    name: str = ""
    contents: np.ndarray | None = None
    """The integers in it, where the caller knows them."""


@dataclass(frozen=True)
class Moved:
    """Key of bytes read from a buffer, or written to it."""

    buffer: Buffer
    is_written: bool


Indices = Sequence[Expression]
Place = Callable[[Indices], Indices]
"""From indices of a slice to indices of the buffer."""


def whole(indices: Indices) -> Indices:
    """Return where an element of a whole buffer lies."""
    return indices


@dataclass(frozen=True)
class Memory:
    """A tensor or memref: a view of a buffer."""

    buffer: Buffer
    shape: tuple[Expression, ...]
    element: ir.Type
    place: Place | None = whole
    """Where an element lies in the buffer, or None where a view cannot be followed."""

    def reads(self) -> CostTree:
        """Return the cost of reading all of it."""
        return repeated(self.elements(), self.reads_elements(1))

    def writes(self) -> CostTree:
        """Return the cost of writing all of it."""
        return repeated(self.elements(), self.writes_elements(1))

    def reads_elements(self, count: int) -> CostTree:
        """Return the cost of reading so many elements."""
        return Fixed({Moved(self.buffer, is_written=False): count * element_bytes(self.element)})

    def writes_elements(self, count: int) -> CostTree:
        """Return the cost of writing so many elements."""
        return Fixed({Moved(self.buffer, is_written=True): count * element_bytes(self.element)})

    def viewed(self, shape: Sequence[Expression], place: Place | None = None) -> "Memory":
        """Return a view of it with another shape; without `place` its elements cannot be found."""
        return replace(self, shape=tuple(shape), place=place)

    def elements(self) -> Expression:
        """Return the number of elements."""
        return product(self.shape)


def sliced(memory: Memory, offsets: Indices, sizes: Indices, strides: Indices, kept: Sequence[int]) -> Memory:
    """Return a slice of a tensor or memref, of which the dimensions `kept` remain."""
    outer = memory.place

    def place(indices: Indices) -> Indices:
        full: list[Expression] = list(offsets)
        for index, position in zip(indices, kept, strict=True):
            step = computed(int.__mul__, index, strides[position])
            full[position] = computed(int.__add__, offsets[position], step)
        return full if outer is None else outer(full)

    return memory.viewed([sizes[position] for position in kept], None if outer is None else place)


def stored_integer(memory: Memory, indices: Indices, reason: str) -> Expression | None:
    """Return an integer in a buffer whose contents are known, or None if they are not.

    Args:
        memory: what is read.
        indices: of the element.
        reason: names the operation that reads, for errors.
    """
    contents = memory.buffer.contents
    if contents is None or memory.place is None:
        return None

    def look_up(*position: int) -> int:
        if not all(0 <= index < size for index, size in zip(position, contents.shape, strict=True)):
            raise NotCountable(f"{reason} reads {memory.buffer.name}{list(position)}, out of bounds")
        return int(contents[position])

    return computed(look_up, *memory.place(indices))


def element_bytes(element: ir.Type) -> int:
    """Return the bytes that an element takes in memory."""
    if isinstance(element, ir.IndexType):
        return 8
    if isinstance(element, ir.IntegerType):
        return -(-ir.IntegerType(element).width // 8)
    if isinstance(element, ir.VectorType):
        vector = ir.VectorType(element)
        return element_bytes(vector.element_type) * int(np.prod(vector.shape))
    if isinstance(element, ir.FloatType):
        return -(-ir.FloatType(element).width // 8)
    raise NotCountable(f"elements of type {element} have no size in bytes")


def is_memory(kind: ir.Type) -> bool:
    """Whether a type is a ranked tensor or memref."""
    return isinstance(kind, ir.RankedTensorType | ir.MemRefType)


def static_shape(kind: ir.Type) -> tuple[Expression, ...] | None:
    """Return the shape of a tensor or memref type without dynamic sizes, else None."""
    sizes = list(kind.shape)
    return None if DYNAMIC in sizes else tuple(Constant(size) for size in sizes)

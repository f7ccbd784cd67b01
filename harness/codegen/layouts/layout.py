"""The layout of a value: which lane holds which element, in which register.

Menon's talk *High-dimensional layouts for vector distribution* describes the layout of a matrix by eight
dimensions, batch (row and column), lane (Z, Y, X) and vector (Z, Y, X), each assigned to rows or
columns.  Here a layout has for every axis of the value the list of dimensions that make up its coordinate,
outermost first: the digits of a number in a mixed base.  For the operand A of `mma.sync.m16n8k16`, 16×16:

    row = vec_z 2, lane_y 8             that is  row = lane_y + 8·vec_z
    column = vec_y 2, lane_x 4, vec_x 2          column = vec_x + 2·lane_x + 8·vec_y

Warps are one more kind of dimension.  A lane or warp dimension that no axis has replicates the value.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

import numpy as np

AXIS_NAMES = ("row", "column")


class Level(StrEnum):
    """What the indices of a dimension count."""

    BATCH = "batch"
    """Fragments: executions of an instruction, one after another."""
    WARP = "warp"
    """Warps (waves, sub-groups) of a workgroup."""
    LANE = "lane"
    """Lanes of a warp."""
    VECTOR = "vec"
    """Registers of one lane in one fragment."""


@dataclass(frozen=True)
class Dimension:
    """One of the dimensions of a layout."""

    level: Level
    name: str
    """`x`, `y` or `z`; `row` and `column` for batches and warps."""
    size: int

    def __str__(self) -> str:
        return f"{self.level}_{self.name}"


def batch(name: str, size: int) -> Dimension:
    """Return a dimension that counts fragments."""
    return Dimension(Level.BATCH, name, size)


def warp(name: str, size: int) -> Dimension:
    """Return a dimension that counts warps."""
    return Dimension(Level.WARP, name, size)


def lane(name: str, size: int) -> Dimension:
    """Return a dimension that counts lanes."""
    return Dimension(Level.LANE, name, size)


def vector(name: str, size: int) -> Dimension:
    """Return a dimension that counts registers."""
    return Dimension(Level.VECTOR, name, size)


@dataclass(frozen=True)
class Place:
    """Where an element is."""

    warp: int
    lane: int
    fragment: int
    register: int


@dataclass(frozen=True)
class Layout:
    """An assignment of the elements of a value to registers of lanes.

    Args:
        axes: for each axis of the value the dimensions of its coordinate, outermost first.
        order: all dimensions, outermost first: of two of one level, the later one counts faster in the number
            of the warp, lane, fragment or register.
    """

    axes: tuple[tuple[Dimension, ...], ...]
    order: tuple[Dimension, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the value."""
        return tuple(math.prod(dimension.size for dimension in axis) for axis in self.axes)

    @property
    def warps(self) -> int:
        """Number of warps."""
        return self._count(Level.WARP)

    @property
    def lanes(self) -> int:
        """Number of lanes of a warp."""
        return self._count(Level.LANE)

    @property
    def fragments(self) -> int:
        """Number of fragments that a lane holds."""
        return self._count(Level.BATCH)

    @property
    def registers(self) -> int:
        """Number of elements that a lane holds of one fragment."""
        return self._count(Level.VECTOR)

    @property
    def replicas(self) -> int:
        """In how many lanes each element is; 1 says that the layout is a bijection."""
        assigned = {dimension for axis in self.axes for dimension in axis}
        return math.prod(dimension.size for dimension in self.order if dimension not in assigned)

    def dimensions(self, level: Level) -> tuple[Dimension, ...]:
        """Return the dimensions of a level, outermost first."""
        return self._dimensions_by_level[level]

    @cached_property
    def _dimensions_by_level(self) -> dict[Level, tuple[Dimension, ...]]:
        return {level: tuple(dim for dim in self.order if dim.level is level) for level in Level}

    def strides(self, axis: int) -> dict[Dimension, int]:
        """Return by how much each dimension moves the coordinate of an axis."""
        strides: dict[Dimension, int] = {}
        stride = 1
        for dimension in reversed(self.axes[axis]):
            strides[dimension] = stride
            stride *= dimension.size
        return strides

    def digits(self, level: Level, number: int) -> dict[Dimension, int]:
        """Return the index in each dimension of a level of a warp, lane, fragment or register."""
        indices: dict[Dimension, int] = {}
        for dimension in reversed(self.dimensions(level)):
            indices[dimension] = number % dimension.size
            number //= dimension.size
        return indices

    def number(self, level: Level, indices: Mapping[Dimension, int]) -> int:
        """Return the warp, lane, fragment or register at these indices; the inverse of `digits`."""
        number = 0
        for dimension in self.dimensions(level):
            number = number * dimension.size + indices[dimension]
        return number

    def coordinates(self, place: Place) -> tuple[int, ...]:
        """Return the element at a place."""
        indices = {
            **self.digits(Level.WARP, place.warp),
            **self.digits(Level.LANE, place.lane),
            **self.digits(Level.BATCH, place.fragment),
            **self.digits(Level.VECTOR, place.register),
        }
        return tuple(
            sum(stride * indices[dimension] for dimension, stride in self.strides(axis).items())
            for axis in range(len(self.axes))
        )

    def places(self) -> Iterator[Place]:
        """Yield all places."""
        for warp_number, lane_number, fragment, register in np.ndindex(*self._counts):
            yield Place(warp_number, lane_number, fragment, register)

    @cached_property
    def coordinate_table(self) -> np.ndarray:
        """Coordinates of all places, `[warp, lane, fragment, register, axis]`."""
        indices = self._index_grids()
        table = np.zeros((*self._counts, len(self.axes)), dtype=np.int64)
        for axis in range(len(self.axes)):
            for dimension, stride in self.strides(axis).items():
                table[..., axis] += stride * indices[dimension]
        return table

    def constant_part(self, axis: int, fragment: int, register: int) -> int:
        """Return what a coordinate is in the first lane: the part that fragment and register make up."""
        return int(self.coordinate_table[0, 0, fragment, register, axis])

    @cached_property
    def owners(self) -> dict[tuple[int, ...], tuple[Place, ...]]:
        """The places of each element; more than one where it is replicated."""
        places_of: dict[tuple[int, ...], list[Place]] = {}
        for place in self.places():
            element = self.coordinate_table[place.warp, place.lane, place.fragment, place.register]
            places_of.setdefault(tuple(int(index) for index in element), []).append(place)
        return {element: tuple(places) for element, places in places_of.items()}

    def is_equivalent(self, other: "Layout") -> bool:
        """Return whether every place holds the same element in both, however it is written."""
        return self._counts == other._counts and bool(
            np.array_equal(self.coordinate_table, other.coordinate_table)
        )

    def transposed(self) -> "Layout":
        """Return the layout of the transposed value, whose elements stay where they are."""
        return replace(self, axes=self.axes[::-1])

    def slice(self, axis: int) -> "Layout":
        """Return the layout of what is left when an axis is reduced, as row sums are of rows.

        The lanes and warps along that axis all hold the result: they replicate it.
        """
        gone = {dim for dim in self.axes[axis] if dim.level in (Level.BATCH, Level.VECTOR)}
        axes = tuple(dims for position, dims in enumerate(self.axes) if position != axis)
        return Layout(axes, tuple(dimension for dimension in self.order if dimension not in gone))

    def __str__(self) -> str:
        names = AXIS_NAMES if len(self.axes) == 2 else ("index",) * len(self.axes)
        parts = [f"{name} = {_sizes(axis) or '0'}" for name, axis in zip(names, self.axes, strict=True)]
        if self.replicas > 1:
            assigned = {dimension for axis in self.axes for dimension in axis}
            parts.append(f"replicated by {_sizes(dim for dim in self.order if dim not in assigned)}")
        return "; ".join(parts)

    @property
    def _counts(self) -> tuple[int, int, int, int]:
        return self.warps, self.lanes, self.fragments, self.registers

    def _count(self, level: Level) -> int:
        return math.prod(dimension.size for dimension in self.dimensions(level))

    def _index_grids(self) -> dict[Dimension, np.ndarray]:
        grids = np.meshgrid(*(np.arange(count) for count in self._counts), indexing="ij", sparse=True)
        indices: dict[Dimension, np.ndarray] = {}
        for level, numbers in zip(_PLACE_LEVELS, grids, strict=True):
            rest = numbers
            for dimension in reversed(self.dimensions(level)):
                indices[dimension] = rest % dimension.size
                rest = rest // dimension.size
        return indices


def _sizes(dimensions: Iterable[Dimension]) -> str:
    return ", ".join(f"{dimension} {dimension.size}" for dimension in dimensions if dimension.size > 1)


_PLACE_LEVELS = (Level.WARP, Level.LANE, Level.BATCH, Level.VECTOR)


def compose(outer: Layout, inner: Layout) -> Layout:
    """Return the layout of a matrix of tiles: `outer` says where tiles are, `inner` where their elements."""
    axes = tuple((*tiles, *elements) for tiles, elements in zip(outer.axes, inner.axes, strict=True))
    return Layout(axes, (*outer.order, *inner.order))


def tiled(inner: Layout, fragments: Sequence[int], warps: Sequence[int] | None = None) -> Layout:
    """Repeat the layout of a fragment along rows and columns.

    Args:
        inner: layout of one fragment, two axes.
        fragments: how many fragments a warp has along rows and along columns.
        warps: how many warps there are along rows and along columns; tiles of neighbouring warps follow each
            other, each `fragments` large.
    """
    counts = tuple(warps) if warps is not None else (1, 1)
    warp_dims = tuple(warp(name, count) for name, count in zip(AXIS_NAMES, counts, strict=True))
    batch_dims = tuple(batch(name, count) for name, count in zip(AXIS_NAMES, fragments, strict=True))
    outer = Layout(tuple(zip(warp_dims, batch_dims, strict=True)), (*warp_dims, *batch_dims))
    return compose(outer, inner)

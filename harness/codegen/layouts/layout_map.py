"""The linear map of a layout: from the bits of a place to the bits of the element that is there.

The number of an element has the bits of its coordinates, those of the last axis lowest.  The number of a
place has the bits of the register, the fragment, the lane and the warp, in this order from the lowest.  Where
sizes are powers of two, each bit of a place is one bit of a coordinate, or none where it replicates: a linear
map (Zhou and others, *Linear Layouts: Robust Code Generation of Efficient Tensor Computation Using F₂*,
2025).
"""

from collections.abc import Sequence

import numpy as np

from harness.codegen.layouts.layout import Layout, Level
from harness.codegen.layouts.linear_map import LinearMap

PLACE_LEVELS = (Level.VECTOR, Level.BATCH, Level.LANE, Level.WARP)
"""Levels in the order of their bits in the number of a place, lowest first."""


def element_bits(shape: Sequence[int]) -> int:
    """Return the number of bits of elements of a value."""
    return sum(_axis_bits(size) for size in shape)


def element_numbers(coordinates: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Return the numbers of elements whose coordinates, `[…, axis]`, are given."""
    weights = np.array([1 << shift for shift in _shifts(shape)], dtype=np.int64)
    numbers: np.ndarray = coordinates @ weights
    return numbers


def is_linear(layout: Layout, levels: Sequence[Level] = PLACE_LEVELS) -> bool:
    """Return whether the elements follow from the bits of these levels' numbers by a linear map.

    They do where the sizes of dimensions, and of all that is inside them in their axes, are powers of two.
    """
    axes = range(len(layout.axes))
    strides = {dimension: stride for axis in axes for dimension, stride in layout.strides(axis).items()}
    return all(
        _is_power_of_two(dimension.size) and _is_power_of_two(strides.get(dimension, 1))
        for level in levels
        for dimension in layout.dimensions(level)
        if dimension.size > 1
    )


def layout_map(
    layout: Layout, levels: Sequence[Level] = PLACE_LEVELS, axes: Sequence[int] | None = None
) -> LinearMap:
    """Return the map from bits of places to bits of elements.

    Args:
        layout: the layout.
        levels: the levels whose bits are arguments, lowest first; all if not given.
        axes: the axes whose coordinates make up the number of an element; all if not given.

    Raises `ValueError` for sizes that are no powers of two, see `is_linear`.
    """
    if not is_linear(layout, levels):
        raise ValueError(f"sizes are no powers of two, so that there is no linear map: {layout}")
    kept = range(len(layout.axes)) if axes is None else axes
    weights = {
        dimension: stride << shift
        for axis, shift in zip(kept, _shifts([layout.shape[axis] for axis in kept]), strict=True)
        for dimension, stride in layout.strides(axis).items()
    }
    return LinearMap(
        tuple(
            weights.get(dimension, 0) << bit
            for level in levels
            for dimension in reversed(layout.dimensions(level))
            for bit in range(_axis_bits(dimension.size))
        )
    )


def _shifts(shape: Sequence[int]) -> list[int]:
    return [element_bits(shape[axis + 1 :]) for axis in range(len(shape))]


def _axis_bits(size: int) -> int:
    return (size - 1).bit_length()


def _is_power_of_two(number: int) -> bool:
    return number & (number - 1) == 0

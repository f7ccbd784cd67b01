"""Layouts that hypothesis draws: any sizes, any assignment of dimensions to axes, any order."""

from hypothesis import strategies as st

from harness.layouts.layout import Dimension, Layout, Level

LARGEST = 96
"""Elements and places of a drawn layout."""

NAMES = {
    Level.WARP: ("row",),
    Level.BATCH: ("row", "column"),
    Level.LANE: ("x", "y", "z"),
    Level.VECTOR: ("x", "y"),
}


@st.composite
def layouts(draw: st.DrawFn, axes: int = 2, replicated: bool = True) -> Layout:
    """Draw a layout of so many axes."""
    dimensions: list[Dimension] = []
    total = 1
    for level, names in NAMES.items():
        for name in names:
            size = draw(st.sampled_from([1, 1, 2, 3, 4]))
            if total * size <= LARGEST:
                dimensions.append(Dimension(level, name, size))
                total *= size
    order = draw(st.permutations(dimensions))
    assigned: list[list[Dimension]] = [[] for _ in range(axes)]
    for dimension in draw(st.permutations(dimensions)):
        may_replicate = replicated and dimension.level in (Level.LANE, Level.WARP)
        choice = draw(st.integers(-1 if may_replicate else 0, axes - 1))
        if choice >= 0:
            assigned[choice].append(dimension)
    return Layout(tuple(map(tuple, assigned)), tuple(order))

"""Layouts that hypothesis draws: any sizes, any assignment of dimensions to axes, any order."""

from hypothesis import strategies as st

from harness.codegen.layouts.layout import Dimension, Layout, Level

LARGEST = 96
"""Elements and places of a drawn layout."""

NAMES = {
    Level.WARP: ("row",),
    Level.BATCH: ("row", "column"),
    Level.LANE: ("x", "y", "z"),
    Level.VECTOR: ("x", "y"),
}

SIZES = (1, 1, 2, 3, 4)
POWERS_OF_TWO = (1, 2, 2, 4)

Bit = tuple[int, int]
"""An axis, and a bit of the coordinate along it."""


@st.composite
def layouts(
    draw: st.DrawFn, axes: int = 2, replicated: bool = True, sizes: tuple[int, ...] = SIZES
) -> Layout:
    """Draw a layout of so many axes."""
    dimensions: list[Dimension] = []
    total = 1
    for level, names in NAMES.items():
        for name in names:
            size = draw(st.sampled_from(sizes))
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


@st.composite
def pairs_of_layouts(draw: st.DrawFn) -> tuple[Layout, Layout]:
    """Draw two layouts of one value, each bit of which lanes, registers and fragments share in any way.

    Sizes are powers of two, but for an outermost count of fragments.  Both have the same bits in warps.
    """
    lengths = draw(st.integers(0, 2)), draw(st.integers(0, 3))
    bits = [(axis, bit) for axis, length in enumerate(lengths) for bit in range(length)]
    warps = draw(st.lists(st.sampled_from([None, *bits]), max_size=1))
    rest = [bit for bit in bits if bit not in warps]
    outermost = tuple(draw(st.sampled_from([1, 1, 3])) for _ in lengths)
    lanes = draw(st.integers(0, 3))
    return draw(_layouts_of_bits(rest, warps, lanes, outermost)), draw(
        _layouts_of_bits(rest, warps, lanes, outermost)
    )


@st.composite
def _layouts_of_bits(
    draw: st.DrawFn, bits: list[Bit], warps: list[Bit | None], lanes: int, outermost: tuple[int, ...]
) -> Layout:
    """Draw who has each bit; a warp or lane bit that has none replicates."""
    shuffled = draw(st.permutations(bits))
    in_lanes: list[Bit | None] = [*shuffled[: draw(st.integers(0, lanes))]]
    in_lanes += [None] * (lanes - len(in_lanes))
    kinds = [(Level.WARP, bit) for bit in warps]
    kinds += [(Level.LANE, bit) for bit in draw(st.permutations(in_lanes))]
    held = [bit for bit in shuffled if bit not in in_lanes]
    kinds += [(draw(st.sampled_from([Level.BATCH, Level.VECTOR])), bit) for bit in held]
    dimensions = {Dimension(level, str(number), 2): bit for number, (level, bit) in enumerate(kinds)}
    axes = []
    for axis, count in enumerate(outermost):
        inner = sorted((bit, dim) for dim, bit in dimensions.items() if bit is not None and bit[0] == axis)
        axes.append((Dimension(Level.BATCH, f"outer_{axis}", count), *(dim for _, dim in inner[::-1])))
    order = [*dimensions, *(axis[0] for axis in axes)]
    return Layout(tuple(axes), tuple(draw(st.permutations(order))))

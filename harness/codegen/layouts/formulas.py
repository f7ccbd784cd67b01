"""Index formulas of layouts: the coordinate of an element as an affine expression of where it lies."""

from dataclasses import dataclass

from harness.codegen.layouts.layout import AXIS_NAMES, Dimension, Layout, Level

SYMBOLS = {Level.BATCH: "b", Level.WARP: "w", Level.LANE: "l", Level.VECTOR: "v"}


@dataclass(frozen=True)
class Term:
    """`stride · index`, where the index is a digit of a warp's, lane's, fragment's or register's number."""

    dimension: Dimension
    stride: int
    divisor: int
    """The index is `number // divisor % size`."""


@dataclass(frozen=True)
class Formula:
    """The coordinate along one axis: a sum of terms."""

    terms: tuple[Term, ...]

    def of_level(self, *levels: Level) -> "Formula":
        """Return the part that depends on the numbers of these levels."""
        return Formula(tuple(term for term in self.terms if term.dimension.level in levels))

    def value(self, numbers: dict[Level, int]) -> int:
        """Return the coordinate at a warp, lane, fragment and register."""
        return sum(
            term.stride * (numbers[term.dimension.level] // term.divisor % term.dimension.size)
            for term in self.terms
        )

    def __str__(self) -> str:
        parts = [
            symbol(term.dimension) if term.stride == 1 else f"{term.stride}·{symbol(term.dimension)}"
            for term in self.terms
        ]
        return " + ".join(parts) or "0"


def symbol(dimension: Dimension) -> str:
    """Return the short name of a dimension, `lx` for `lane_x`."""
    return SYMBOLS[dimension.level] + dimension.name[0]


def formula(layout: Layout, axis: int) -> Formula:
    """Return the formula of an axis; dimensions of size 1 do not appear."""
    terms = []
    for dimension, stride in layout.strides(axis).items():
        if dimension.size > 1:
            terms.append(Term(dimension, stride, _divisor(layout, dimension)))
    return Formula(tuple(terms))


def replica(layout: Layout) -> Formula:
    """Return a formula that is 0 in the first of the places that hold the same element, and only there."""
    assigned = {dimension for axis in layout.axes for dimension in axis}
    return Formula(
        tuple(
            Term(dimension, 1, _divisor(layout, dimension))
            for dimension in layout.order
            if dimension not in assigned and dimension.size > 1
        )
    )


def describe(layout: Layout) -> list[str]:
    """Return the formulas of all axes and of lane and register as lines of text."""
    names = AXIS_NAMES if len(layout.axes) == 2 else ("index",) * len(layout.axes)
    lines = [f"{name} = {formula(layout, axis)}" for axis, name in enumerate(names)]
    for level, name in ((Level.LANE, "lane"), (Level.VECTOR, "register")):
        terms = [
            Term(dimension, _divisor(layout, dimension), 1)
            for dimension in reversed(layout.dimensions(level))
            if dimension.size > 1
        ]
        lines.append(f"{name} = {Formula(tuple(terms))}")
    return lines


def _divisor(layout: Layout, dimension: Dimension) -> int:
    divisor = 1
    for other in reversed(layout.dimensions(dimension.level)):
        if other == dimension:
            return divisor
        divisor *= other.size
    raise ValueError(f"{dimension} is not of this layout")

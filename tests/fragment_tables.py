"""Prints which lane holds which element of a matrix, the way the instruction sets' figures do."""

from collections.abc import Callable, Mapping

from harness.codegen.layouts.layout import Layout

Placement = Callable[[int, int], tuple[int, int]]
"""The (row, column) of an element that a lane holds."""


def lane_table(
    placement: Placement, rows: int, columns: int, lanes: int, elements: int, letter: str = ""
) -> str:
    """Return a grid of `lane:element`, with the letter of the operand before the element.

    An element that several lanes hold lists them all; one that nobody holds is a dot.
    """
    owners: list[list[list[str]]] = [[[] for _ in range(columns)] for _ in range(rows)]
    for lane in range(lanes):
        for element in range(elements):
            row, column = placement(lane, element)
            owners[row][column].append(f"{lane}:{letter}{element}")
    cells = [["/".join(held) or "." for held in row] for row in owners]
    width = max(len(cell) for row in cells for cell in row)
    heads = "".join(f" {column:>{width}}" for column in range(columns))
    lines = [f"{row:3}" + "".join(f" {cell:>{width}}" for cell in cells[row]) for row in range(rows)]
    return "\n".join(["   " + heads, *lines])


def assert_placement(
    found: Mapping[tuple[int, int], tuple[int, int]],
    expected: Placement,
    *,
    rows: int,
    columns: int,
    lanes: int,
    elements: int,
    letter: str = "",
    source: str = "the instruction set",
) -> None:
    """Assert that each (lane, element) is found at its (row, column); else show both as tables.

    `source` says where the expected placement is written.  An element that was found nowhere may be missing
    in `found`; in its table it stands at row 0, column 0.
    """
    slots = [(lane, element) for lane in range(lanes) for element in range(elements)]
    wrong = [slot for slot in slots if found.get(slot) != expected(*slot)]
    if wrong:
        wanted = lane_table(expected, rows, columns, lanes, elements, letter)
        got = lane_table(
            lambda lane, element: found.get((lane, element), (0, 0)), rows, columns, lanes, elements, letter
        )
        heading = f"{len(wrong)} of {len(slots)} elements are misplaced, (lane, element) {wrong[:8]}"
        raise AssertionError(f"{heading}\n{source} has\n{wanted}\nthe model has\n{got}")


def assert_layout(layout: Layout, expected: Placement, lanes: int, source: str) -> None:
    """Assert that each register of a lane holds the element at its (row, column)."""
    rows, columns = layout.shape
    assert_placement(
        {(place.lane, place.register): layout.coordinates(place) for place in layout.places()},
        expected,
        rows=rows,
        columns=columns,
        lanes=lanes,
        elements=layout.registers,
        source=source,
    )

"""Layouts as the tables of lane owners that instruction sets draw, and Menon's talk."""

from harness.codegen.layouts.layout import Layout, Place


def owner_table(layout: Layout, *, registers: bool = False) -> str:
    """Return a grid with the lane that holds each element, `4` or, with its register, `4:1`.

    Several fragments stand as `4:1@0`, several warps as `w1 4:1@0`; an element that several lanes hold names
    them all, `0/16`.  Needs a layout of one or two axes.
    """
    rows, columns = layout.shape if len(layout.axes) == 2 else (1, *layout.shape)
    cells = [
        [cell(layout, _element(layout, row, column), registers) for column in range(columns)]
        for row in range(rows)
    ]
    width = max(len(text) for row in cells for text in row)
    margin = len(str(rows - 1))
    heads = "".join(f" {column:>{width}}" for column in range(columns))
    lines = [
        f"{row:>{margin}} " + "".join(f" {text:>{width}}" for text in texts)
        for row, texts in enumerate(cells)
    ]
    return "\n".join([" " * (margin + 1) + heads, *lines])


def cell(layout: Layout, element: tuple[int, ...], registers: bool) -> str:
    """Return what stands in the table for an element."""
    return "/".join(_text(layout, place, registers) for place in layout.owners[element])


def _element(layout: Layout, row: int, column: int) -> tuple[int, ...]:
    return (row, column) if len(layout.axes) == 2 else (column,)


def _text(layout: Layout, place: Place, registers: bool) -> str:
    text = f"{place.lane}:{place.register}" if registers else f"{place.lane}"
    if registers and layout.fragments > 1:
        text += f"@{place.fragment}"
    return f"w{place.warp} {text}" if layout.warps > 1 else text

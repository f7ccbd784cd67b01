"""A layout as a figure: one square for each element, coloured by the lane that holds it."""

from collections.abc import Mapping
from pathlib import Path

from harness.codegen.layouts.layout import Layout
from harness.codegen.layouts.table import cell

INCHES_FOR_CELL = 0.27
DARK = 0.45
"""Luminance below which a square has white text."""

NO_DATES = {".png": "Software", ".svg": "Date", ".pdf": "CreationDate"}
"""Metadata to leave out, so that equal layouts give equal files."""


def save_figure(layouts: Mapping[str, Layout], file: Path, *, registers: bool = True) -> None:
    """Write a figure of layouts of two axes, side by side, each under its title.

    The suffix of the file decides about the format.
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    widths = [layout.shape[1] for layout in layouts.values()]
    height = max(layout.shape[0] for layout in layouts.values())
    figure = Figure(
        figsize=(INCHES_FOR_CELL * (sum(widths) + 2 * len(widths)), INCHES_FOR_CELL * (height + 2.5)),
        layout="constrained",
    )
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, len(widths), squeeze=False, width_ratios=widths)[0]
    colours = matplotlib.colormaps["viridis"]
    for panel, (title, layout) in zip(panels, layouts.items(), strict=True):
        rows, columns = layout.shape
        lanes = [[layout.owners[row, column][0].lane for column in range(columns)] for row in range(rows)]
        panel.imshow(lanes, cmap=colours, vmin=0, vmax=layout.lanes - 1, aspect="equal")
        for row in range(rows):
            for column in range(columns):
                red, green, blue, _ = colours(lanes[row][column] / max(1, layout.lanes - 1))
                luminance = 0.299 * red + 0.587 * green + 0.114 * blue
                panel.text(
                    column,
                    row,
                    cell(layout, (row, column), registers),
                    ha="center",
                    va="center",
                    fontsize=6,
                    color="white" if luminance < DARK else "black",
                )
        panel.set_title(title, fontsize=9)
        panel.set_xticks(range(columns), labels=[str(column) for column in range(columns)], fontsize=6)
        panel.set_yticks(range(rows), labels=[str(row) for row in range(rows)], fontsize=6)
        panel.tick_params(length=0)
        panel.xaxis.tick_top()
    with matplotlib.rc_context({"svg.hashsalt": "attention-harness", "pdf.fonttype": 42}):
        figure.savefig(
            file, dpi=200, bbox_inches="tight", pad_inches=0.05, metadata={NO_DATES[file.suffix]: None}
        )

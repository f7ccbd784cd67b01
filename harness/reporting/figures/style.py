"""How each variant looks, the same in every figure, in print without colour, and to the colour-blind.

A variant has a colour of seaborn's colour-blind palette (after Okabe and Ito), a marker, a line style and
a hatch.  Several parameter sets, or several runs, of one variant differ in marker, line and hatch.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from harness.reporting.figures.own_axes import own_axes
from harness.reporting.frames import variant_of_labels
from harness.system.status import Status

if TYPE_CHECKING:
    import pandas as pd

COLUMN_WIDTH = 3.4
"""Inches; one column of a two-column paper."""
WIDTHS = {"page": 7.0, "column": COLUMN_WIDTH}
FONTS = {
    "sans": (["DejaVu Sans"], "dejavusans"),
    "serif": (["STIXGeneral", "DejaVu Sans"], "stix"),
}
"""Fonts that come with matplotlib, the later ones fill gaps; and those of formulas."""

FONT_SIZES = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "figure.titlesize": 9,
}
CAPTION_SIZE = 6.0
DARK = ("axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "text.color")
PAPER: dict[str, Any] = {
    **FONT_SIZES,
    **dict.fromkeys(DARK, "0.15"),
    "axes.linewidth": 0.6,
    "axes.titlepad": 4,
    "axes.axisbelow": True,
    "grid.color": "0.88",
    "grid.linewidth": 0.5,
    "hatch.linewidth": 0.5,
    "lines.linewidth": 1.2,
    "lines.markersize": 5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "legend.frameon": False,
    "legend.title_fontsize": 9,
    "legend.handlelength": 3.0,
    "figure.constrained_layout.h_pad": 0.03,
    "figure.constrained_layout.w_pad": 0.04,
}


@dataclass(frozen=True)
class SeriesStyle:
    """The look of one series as line and as bar."""

    color: str
    marker: str
    line: str | tuple[int, tuple[float, ...]]
    hatch: str
    is_published: bool = False
    """Whether others measured it: hollow, or white and hatched, that nobody takes it for a measured one."""


DOTTED = (0, (1.0, 1.2))
"""Of what nobody measured here but a peak, and of what others published."""
DASHED = (0, (4.0, 1.5))
DASH_DOTTED = (0, (4.0, 1.2, 1.0, 1.2))

KNOWN_VARIANTS = {
    "flash": SeriesStyle("#0173b2", "o", "-", ""),
    "naive": SeriesStyle("#de8f05", "s", "-", "////"),
    "unfused": SeriesStyle("#3b3b3b", "D", DASHED, ""),
    "iree": SeriesStyle("#029e73", "^", "-", "...."),
    "iree-unfused": SeriesStyle("#56b4e9", "v", DASHED, "xxxx"),
    "torch": SeriesStyle("#d55e00", "P", "-", "\\\\\\\\"),
    "torch-unfused": SeriesStyle("#cc78bc", "X", DASHED, "----"),
}
OTHER_VARIANTS = (
    SeriesStyle("#ca9161", "h", DASH_DOTTED, "||||"),
    SeriesStyle("#949494", "p", DASH_DOTTED, "++++"),
    SeriesStyle("#ece133", "*", DASH_DOTTED, "oo"),
    SeriesStyle("#fbafe4", "d", DASH_DOTTED, "**"),
)
"""For variants that others add, in the order in which they appear."""

SIBLING_MARKERS = ("<", ">", "8", "d", "H", "p", "*")
SIBLING_LINES = (DASH_DOTTED, (0, (7.0, 1.5)), (0, (4.0, 1.2, 1.0, 1.2, 1.0, 1.2)))
SIBLING_HATCHES = ("//", "\\\\", "xx", "..", "--", "||", "++", "oo")
"""Looks of the further series of one variant; no numbers of two have a common divisor."""

STATUS_WORDS = {
    Status.PASSED: "not timed",
    Status.EMULATED: "emulated",
    Status.BUILT: "built",
    Status.WRONG: "wrong",
    Status.UNSUPPORTED: "unsupp.",
    Status.BUILD_FAILED: "no build",
    Status.CRASHED: "crashed",
    Status.TIMED_OUT: "timeout",
    Status.OUT_OF_MEMORY: "OOM",
}
"""What stands in a figure where a measurement would be."""


def series_styles(frame: pd.DataFrame) -> dict[str, SeriesStyle]:
    """Return the style of each label of a prepared frame.

    Call it with the whole frame, not with what one figure shows, so that styles agree between figures.
    """
    others = itertools.cycle(OTHER_VARIANTS)
    families = dict(KNOWN_VARIANTS)
    members: Counter[SeriesStyle] = Counter()
    styles: dict[str, SeriesStyle] = {}
    for label, variant in variant_of_labels(frame).items():
        family = families[variant] if variant in families else families.setdefault(variant, next(others))
        styles[label] = _sibling(family, members[family])
        members[family] += 1
    return styles


@contextmanager
def paper_style(font: str = "sans") -> Iterator[None]:
    """Apply fonts, ticks and grid of a two-column paper, one of `FONTS`, to what is drawn inside the block.

    They are settings over matplotlib's defaults: whatever a `matplotlibrc` says, equal results look equal.
    A reader's own axes keep the reader's style.
    """
    import matplotlib

    if own_axes():
        yield
        return
    family, formulas = FONTS[font]
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        paper: dict[Any, Any] = {**PAPER, "font.family": family, "mathtext.fontset": formulas}
        matplotlib.rcParams.update(paper)
        yield


def marker_properties(look: SeriesStyle) -> dict[str, Any]:
    """Return what matplotlib takes of a series' line and markers."""
    return {
        "color": look.color,
        "linestyle": look.line,
        "marker": look.marker,
        "markerfacecolor": "white" if look.is_published else look.color,
        "markeredgecolor": look.color if look.is_published else "white",
        "markeredgewidth": 0.9 if look.is_published else 0.3,
    }


def bar_properties(look: SeriesStyle) -> dict[str, Any]:
    """Return what matplotlib takes of a series' bars."""
    if look.is_published:
        return {"facecolor": "white", "edgecolor": look.color, "hatch": look.hatch, "linewidth": 0.4}
    return {"facecolor": look.color, "edgecolor": "white", "hatch": look.hatch, "linewidth": 0.4}


def _sibling(base: SeriesStyle, rank: int) -> SeriesStyle:
    if rank == 0:
        return base
    return replace(
        base,
        marker=SIBLING_MARKERS[(rank - 1) % len(SIBLING_MARKERS)],
        line=SIBLING_LINES[(rank - 1) % len(SIBLING_LINES)],
        hatch=SIBLING_HATCHES[(rank - 1) % len(SIBLING_HATCHES)],
    )

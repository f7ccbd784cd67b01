"""How each variant looks, the same in every figure, in print without colour, and to the colour-blind.

A variant has a colour of seaborn's colour-blind palette (after Okabe and Ito), a marker, a line style and
a hatch.  Several parameter sets, or several runs, of one variant share its colour family and
differ in tone, marker and hatch.  No two series that one figure can show have both the colour and the marker
in common.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.reporting.frames import variant_of_labels
from harness.status import Status

if TYPE_CHECKING:
    import pandas as pd

PAPER_WIDTH = 7.0
"""Inches; the text width of a two-column paper."""
POINTS_PER_INCH = 72
COLUMN_WIDTH = 3.4
"""Inches; one of its columns."""
PAGE, COLUMN = "page", "column"
COLUMN_HEIGHT = 9.0
"""Inches; a column's, with its figure and the caption below."""
WIDTHS = {PAGE: PAPER_WIDTH, COLUMN: COLUMN_WIDTH}
SANS, SERIF = "sans", "serif"
FONTS = {SANS: ("DejaVu Sans",), SERIF: ("STIXGeneral", "DejaVu Sans")}
"""Fonts that come with matplotlib, so that every machine draws the same; the later ones fill gaps."""
MATHEMATICS = {SANS: "dejavusans", SERIF: "stix"}

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
"""Settings of matplotlib that are a little lighter than black."""


@dataclass(frozen=True)
class SeriesStyle:
    """The look of one series as line and as bar."""

    color: str
    marker: str
    line: str | tuple[int, tuple[float, ...]]
    hatch: str
    is_hollow: bool = False
    """Whether the marker is filled with white."""
    is_published: bool = False
    """Whether others measured it: drawn white and hatched, so that nobody takes it for a measured one."""

    @property
    def look_without_line(self) -> tuple[str, str]:
        """Colour and marker: what a point is told by."""
        return self.color, self.marker


DOTTED = (0, (1.0, 1.2))
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
SIBLING_TONES = (0.3, -0.4, 0.6, -0.2, 0.45)
"""How far to white, or if negative to black, the siblings of a series are.  The numbers of tones and of
markers have no common divisor, so that a pair repeats only after all combinations."""

LOOKS_OF_A_FAMILY = 1 + len(SIBLING_TONES) * len(SIBLING_MARKERS)
"""Where a variant has more series, looks repeat; no figure shows so many."""

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
    families: dict[str, SeriesStyle] = {}
    styles: dict[str, SeriesStyle] = {}
    members: Counter[SeriesStyle] = Counter()
    taken: set[tuple[str, str]] = set()
    others = itertools.cycle(OTHER_VARIANTS)
    for label, variant in variant_of_labels(frame).items():
        if variant not in families:
            families[variant] = KNOWN_VARIANTS.get(variant) or next(others)
        family = families[variant]
        for _ in range(LOOKS_OF_A_FAMILY):
            style = _sibling(family, members[family])
            if style.look_without_line not in taken:
                break
            members[family] += 1  # tones of two families can be the same grey
        taken.add(style.look_without_line)
        styles[label] = style
    return styles


@contextmanager
def paper_style(font: str = SANS) -> Iterator[None]:
    """Apply fonts, ticks and grid of a two-column paper to what is drawn inside the block.

    `font` is one of `FONTS`.
    """
    settings = {
        **FONT_SIZES,
        **dict.fromkeys(
            ("axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "text.color"), "0.15"
        ),
        "axes.linewidth": 0.6,
        "axes.titlepad": 4,
        "axes.axisbelow": True,
        "font.family": list(FONTS[font]),
        "mathtext.fontset": MATHEMATICS[font],
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
    with own_settings(settings):
        yield


@contextmanager
def own_settings(settings: Any) -> Iterator[None]:
    """Apply settings of matplotlib inside the block, over its defaults: a user's own ones do not count.

    So equal results give equal figures, whatever a `matplotlibrc` says.
    """
    import matplotlib
    from matplotlib import artist

    artist.kwdoc = _no_documentation  # type: ignore[assignment]
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        with matplotlib.rc_context(settings):
            yield


def _no_documentation(of: Any) -> str:
    """Stand for what matplotlib writes into docstrings of its classes, half the time of importing them."""
    return ""


def marker_properties(look: SeriesStyle) -> dict[str, Any]:
    """Return what matplotlib is told of a series' line and markers."""
    return {
        "color": look.color,
        "linestyle": look.line,
        "marker": look.marker,
        "markerfacecolor": "white" if look.is_hollow else look.color,
        "markeredgecolor": look.color if look.is_hollow else "white",
        "markeredgewidth": 0.9 if look.is_hollow else 0.3,
    }


def bar_properties(look: SeriesStyle) -> dict[str, Any]:
    """Return what matplotlib is told of a series' bars."""
    if look.is_published:
        return {"facecolor": "white", "edgecolor": look.color, "hatch": look.hatch, "linewidth": 0.4}
    return {"facecolor": look.color, "edgecolor": "white", "hatch": look.hatch, "linewidth": 0.4}


def text_color(style: SeriesStyle) -> str:
    """Return the series' colour, darkened so that small text in it can be read on white."""
    red, green, blue = _channels(style.color)
    luminance = 0.299 * red + 0.587 * green + 0.114 * blue
    return _hexadecimal(channel * min(1.0, 0.4 / luminance) for channel in (red, green, blue))


def _sibling(base: SeriesStyle, rank: int) -> SeriesStyle:
    """Return the style of the rank-th series of one family: another tone, another marker, another dash."""
    if rank == 0:
        return base
    lines = (DOTTED, DASH_DOTTED, DASHED)
    return SeriesStyle(
        color=_toned(base.color, SIBLING_TONES[(rank - 1) % len(SIBLING_TONES)]),
        marker=SIBLING_MARKERS[(rank - 1) % len(SIBLING_MARKERS)],
        line=lines[(rank - 1) % len(lines)],
        hatch=(base.hatch or "/")[0] * (2 if rank % 2 else 6),
        is_hollow=True,
    )


def _toned(color: str, tone: float) -> str:
    """Return a colour made lighter, or darker if `tone` is negative."""
    goal = 1.0 if tone > 0 else 0.0
    return _hexadecimal(channel + (goal - channel) * abs(tone) for channel in _channels(color))


def _channels(color: str) -> tuple[float, float, float]:
    red, green, blue = (int(color[start : start + 2], 16) / 255 for start in (1, 3, 5))
    return red, green, blue


def _hexadecimal(channels: Iterator[float]) -> str:
    return "#" + "".join(f"{round(channel * 255):02x}" for channel in channels)

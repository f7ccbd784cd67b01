"""What figures of series can be told: limits and sharing of the vertical axis, colours and markers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from harness.reporting.figures.base import FigureSettings
from harness.reporting.figures.style import SeriesStyle
from harness.reporting.frames import of_series
from harness.system.errors import InputError
from harness.system.validation import shown

AUTO = "auto"
Looks = tuple[str, ...] | dict[str, str]
"""Of all series in their order, or by variant or series."""


def _limits(value: Any) -> tuple[float | None, float | None]:
    """Read `[0.8, "auto"]`."""
    expected = 'expected [low, high], each a number or "auto", low below high'
    try:
        low, high = (None if end in (AUTO, None) else float(end) for end in value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"found {shown(value)}, {expected}") from error
    ends = [end for end in (low, high) if end is not None]
    if isinstance(value, str) or not all(map(math.isfinite, ends)) or sorted(set(ends)) != ends:
        raise ValueError(f"found {shown(value)}, {expected}")
    return low, high


def _looks(value: Any, is_right: Callable[[str], bool], expected: str) -> Any:
    entries = list(value.values()) if isinstance(value, Mapping) else value
    wrong = [value]
    if isinstance(entries, list | tuple):
        wrong = [entry for entry in entries if not (isinstance(entry, str) and is_right(entry))]
    if wrong:
        raise ValueError(f"found {shown(wrong[0])}, expected {expected}")
    return value


def _is_color(text: str) -> bool:
    from matplotlib.colors import is_color_like

    return is_color_like(text)


def _is_marker(text: str) -> bool:
    from matplotlib.markers import MarkerStyle

    try:
        MarkerStyle(text)
    except ValueError:
        return False
    return True


def _markers(value: Any) -> Any:
    expected = 'markers of matplotlib such as "o" or "^", or a table of them by variant'
    return _looks(value, _is_marker, expected)


def _palette(value: Any) -> Any:
    if isinstance(value, str) and palette_colors(value, 1):
        return value
    names = '"colorblind" or another palette of seaborn'
    return _looks(value, _is_color, f'{names}, colours such as "#0173b2", or a table of them by variant')


def palette_colors(name: str, count: int) -> tuple[str, ...]:
    """Return so many colours of a palette of seaborn; none where there is no such palette."""
    import seaborn

    try:
        return tuple(seaborn.color_palette(name, count).as_hex())
    except Exception:  # whatever seaborn makes of the text
        return ()


class SeriesSettings(FigureSettings):
    """What figures of series on a vertical axis can be told."""

    y_limits: Annotated[tuple[float | None, float | None], BeforeValidator(_limits)] = (None, None)
    sharey: Literal["auto", True, False] = "auto"
    """Whether panels share the vertical axis; `auto`: those whose values are of one order of magnitude."""
    palette: Annotated[str | Looks, BeforeValidator(_palette)] = Field(default={})
    markers: Annotated[Looks, BeforeValidator(_markers)] = Field(default={})

    @property
    def named_variants(self) -> dict[str, tuple[str, ...]]:
        """See `FigureSettings.named_variants`."""
        tables = {"palette": self.palette, "markers": self.markers}
        names = {key: tuple(table) for key, table in tables.items() if isinstance(table, dict)}
        return {**super().named_variants, **names}

    def styled(self, styles: Mapping[str, SeriesStyle], drawn: Sequence[str]) -> dict[str, SeriesStyle]:
        """Return the looks of all series, those `drawn` with the colours and markers of the settings."""
        palette = palette_colors(self.palette, len(drawn)) if isinstance(self.palette, str) else self.palette
        colors, markers = _by_series("palette", palette, drawn), _by_series("markers", self.markers, drawn)
        return {
            label: replace(
                look,
                color=of_series(label, colors) or look.color,
                marker=of_series(label, markers) or look.marker,
            )
            for label, look in styles.items()
        }


def _by_series(key: str, looks: Looks, drawn: Sequence[str]) -> dict[str, str]:
    if isinstance(looks, dict):
        return looks
    if len(looks) < len(drawn):
        found = f"found {len(looks)} for the {len(drawn)} series {', '.join(drawn)}"
        raise InputError(f"{key}: {found}, expected one for each, or a table by variant")
    return dict(zip(drawn, looks, strict=False))

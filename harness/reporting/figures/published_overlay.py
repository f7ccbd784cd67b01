"""Published points in a throughput figure: rows with a source, drawn hatched or hollow beside measured ones.

Where they are far above all that was measured they have panels, and a scale, of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import field_validator

from harness.problem.attention_problem import FLOP_CONVENTION
from harness.reporting.captions import KIND, values_in_words
from harness.reporting.distinct import numbered
from harness.reporting.figures.base import FigureSettings
from harness.reporting.figures.layout import panel_columns
from harness.reporting.figures.style import DOTTED, SeriesStyle
from harness.reporting.published.points import (
    PROBLEM,
    SOURCE,
    check_words,
    disagreements,
    matching,
    of_published_problems,
    published_points,
    sources,
)

if TYPE_CHECKING:
    import pandas as pd

FAR = 4.0
"""Published values above so many times the highest measurement have a scale of their own."""
NO_RATES = "published points are rates and are not overlaid on times"
MIXED = "No published point stands where one panel has several problems at one place, each of another run."
OWN_SCALE = "Published points have panels, and a scale, of their own."
COLORS = ("#5f5f5f", "#8a5a83", "#8c6d31", "#3d7a80", "#a05050")
MARKERS = ("o", "s", "^", "D", "v", "p", "h")
HATCHES = ("//////", "\\\\\\\\\\\\", "xxxxxx", "......", "||||||", "------")


class PublishedSettings(FigureSettings):
    """What is overlaid on a figure of rates."""

    published: bool = False
    """Whether published points of the measured problems are overlaid."""
    published_devices: tuple[str, ...] | None = None
    """Of devices whose names contain one of these words; of all if not given."""
    published_implementations: tuple[str, ...] | None = None
    """Likewise of implementations."""

    @field_validator("published_devices")
    @classmethod
    def _known_devices(cls, words: tuple[str, ...] | None) -> tuple[str, ...] | None:
        check_words("device", words or ())
        return words

    @field_validator("published_implementations")
    @classmethod
    def _known_implementations(cls, words: tuple[str, ...] | None) -> tuple[str, ...] | None:
        check_words("implementation", words or ())
        return words

    def points(self) -> pd.DataFrame:
        """Return the points that are wanted."""
        return published_points(self.published_devices, self.published_implementations)


def overlay_notes(rows: pd.DataFrame, settings: PublishedSettings, *, is_time: bool) -> list[str]:
    """Return why no point is overlaid, or not on all rows, a line each."""
    if not settings.published:
        return [
            f"{name} has no effect without published = true or --published"
            for name in ("published_devices", "published_implementations")
            if getattr(settings, name) is not None
        ]
    points = settings.points()
    if points.empty:
        return ["no published point is of both these devices and these implementations"]
    if is_time:
        return [NO_RATES]
    others = rows.loc[rows["flop_convention"] != FLOP_CONVENTION, "flop_convention"]
    lines = []
    if len(others):
        lines.append(
            f"{len(others)} of {len(rows)} rows count FLOPs otherwise than published points do "
            f"({'; '.join(others.unique())}): no point is overlaid on them"
        )
    if len(others) < len(rows) and matching(rows, points).empty:
        measured = "; ".join(values_in_words(rows, [name for name in PROBLEM if name in rows]))
        lines.append(f"none of {len(points)} published points is of a measured problem: {measured}")
    return lines


def published_styles(rows: pd.DataFrame) -> dict[str, SeriesStyle]:
    """Return the look of each published series of some rows."""
    names = sorted(set(rows.loc[rows[SOURCE].notna(), "label"])) if SOURCE in rows else []
    return {
        name: SeriesStyle(
            COLORS[rank % len(COLORS)],
            MARKERS[rank % len(MARKERS)],
            DOTTED,
            HATCHES[rank % len(HATCHES)],
            is_hollow=True,
            is_published=True,
        )
        for rank, name in enumerate(names)
    }


def with_published(rows: pd.DataFrame, settings: Any, x: str) -> tuple[pd.DataFrame, list[str]]:
    """Add a row for each published point of a measured problem, and return what the caption says of them.

    Of several rows at one place each point counts once; where they are of several problems, none is drawn.
    """
    import pandas as pd

    place = [*panel_columns(rows, settings.panels, x), x]
    plain = of_published_problems(rows)
    problems = pd.Series(numbered(plain, PROBLEM), plain.index).reindex(rows.index, fill_value=-1)
    is_mixed = problems.groupby(numbered(rows, place)).transform("nunique") > 1
    points = matching(rows[~is_mixed], settings.points())
    is_any_mixed = not matching(rows[is_mixed], settings.points()).empty
    notes = [MIXED] if is_any_mixed else []
    points = points.drop_duplicates([*place, "label", SOURCE, "tflops"])
    if points.empty:
        return rows, notes
    labels = rows["label"].cat.categories.union(sorted(set(points["label"])), sort=False)
    drawn = points.assign(tflops_low=points["tflops"], tflops_high=points["tflops"])
    both = pd.concat([rows.astype({"label": object}), drawn.drop(columns=["device", "implementation"])])
    both = both.reset_index(drop=True).astype({"label": pd.CategoricalDtype(labels, ordered=True)})
    if points["tflops"].max() > FAR * float(rows["tflops"].max()):
        both[KIND] = both[SOURCE].isna().map({True: "measured here", False: "published by others"})
        notes.append(OWN_SCALE)
    return both, [sources(points), *disagreements(points), *notes]

"""Published points in a throughput figure: rows with a source, drawn hatched or hollow beside measured ones.

Where they are far above all that was measured they have panels, and a scale, of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import field_validator

from harness.reporting.figures.base import FigureSettings
from harness.reporting.figures.layout import KIND, panel_columns, panel_grid
from harness.reporting.figures.style import DOTTED, SeriesStyle
from harness.reporting.frames import PROBLEM_COLUMNS, RUN_COLUMNS, RUN_LABEL, records
from harness.reporting.published.matching import (
    disagreements,
    matching,
    mixed_places,
    nothing_matches,
    other_conventions,
    published_problem,
    sources,
)
from harness.reporting.published.points import PublishedPoint, check_words, published_points
from harness.status import Status

if TYPE_CHECKING:
    import pandas as pd

FAR = 4.0
"""Published values above so many times the highest measurement have a scale of their own."""
SOURCE = "source"
"""Column that says who published a row; measured rows have none."""
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

    def points(self) -> list[PublishedPoint]:
        """Return the points that are wanted; none where none is overlaid."""
        if not self.published:
            return []
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
    if not points:
        return ["no published point is of both these devices and these implementations"]
    if is_time:
        return [NO_RATES]
    refused = other_conventions(rows)
    lines = [] if refused is None else [refused]
    if not matching(rows, points, "seq_q") and not (refused and lines[0].startswith(f"{len(rows)} of")):
        lines.append(nothing_matches(rows, points))
    return lines


def published_styles(settings: PublishedSettings) -> dict[str, SeriesStyle]:
    """Return the look of each published series."""
    names = sorted({point.series for point in settings.points()})
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


def with_published(rows: pd.DataFrame, settings: Any, x: str) -> tuple[pd.DataFrame, list[str], bool]:
    """Add a row for each published point of a measured problem.

    Return with them what the caption says of them, and whether they have panels of their own.  Of several
    rows at one place each point counts once; where they are of several problems, none is drawn.
    """
    import pandas as pd

    points = settings.points()
    if not points:
        return rows, [], False
    added: dict[tuple[int, Any, PublishedPoint], dict[str, Any]] = {}
    is_mixed = False
    for number, panel in enumerate(panel_grid(rows, panel_columns(rows, settings.panels, x)).panels):
        mixed = mixed_places(panel.frame, x)
        problems = [(row, published_problem(row)) for row in records(panel.frame)]
        for place, point in matching(panel.frame, points, x):
            is_mixed |= place in mixed
            if place not in mixed:
                measured = next(
                    row for row, problem in problems if problem == point.problem and row[x] == place
                )
                added[number, place, point] = _row(point, measured)
    notes = [MIXED] if is_mixed else []
    if not added:
        return rows, notes, False
    found = list(dict.fromkeys(point for _, _, point in added))
    is_far = max((point.tflops or 0.0 for point in found), default=0.0) > FAR * float(rows["tflops"].max())
    labels = rows["label"].cat.categories.union(sorted({point.series for point in found}), sort=False)
    both = pd.concat([rows.assign(label=rows["label"].astype(object)), pd.DataFrame(added.values())])
    both = both.reset_index(drop=True).astype({"label": pd.CategoricalDtype(labels, ordered=True)})
    if is_far:
        both[KIND] = both[SOURCE].isna().map({True: "measured here", False: "published by others"})
    return both, [sources(found), *disagreements(found), *([OWN_SCALE] if is_far else []), *notes], is_far


def _row(point: PublishedPoint, measured: dict[str, Any]) -> dict[str, Any]:
    """Return the row of a point: of the same problem as a measured one, and of the same run's series."""
    of_measured = {*PROBLEM_COLUMNS, *RUN_COLUMNS, RUN_LABEL, "seq", "skew", "seq_q or seq_kv", "causal"}
    status = Status.OUT_OF_MEMORY if point.tflops is None else Status.PASSED
    return {
        **{name: value for name, value in measured.items() if name in of_measured},
        "label": point.series,
        "status": str(status),
        "tflops": point.tflops,
        "tflops_low": point.tflops,
        "tflops_high": point.tflops,
        SOURCE: point.source,
    }

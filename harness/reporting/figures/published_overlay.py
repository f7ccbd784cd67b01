"""Published points in a throughput figure: rows with a source, hatched or hollow beside measured ones."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from harness.reporting.figures.style import DOTTED, SIBLING_HATCHES, SIBLING_MARKERS, SeriesStyle
from harness.reporting.frames import PROBLEM_COLUMNS
from harness.reporting.published.nearest import nearest
from harness.reporting.published.points import SOURCE, matching, sources

if TYPE_CHECKING:
    import pandas as pd

FAR = 4.0
"""Published lines above so many times the highest measurement need a logarithmic scale."""
NONE_MATCHES = "No published point is overlaid: each is of another dtype or mask than all rows."
COLORS = ("#5f5f5f", "#8a5a83", "#8c6d31", "#3d7a80", "#a05050")


def is_far_above(rows: pd.DataFrame) -> bool:
    """Whether published rows are too far above the measured ones for one linear scale."""
    if SOURCE not in rows:
        return False
    is_measured = rows[SOURCE].isna()
    if not is_measured.any():
        return False
    return bool(rows.loc[~is_measured, "tflops"].max() > FAR * rows.loc[is_measured, "tflops"].max())


def looks_of_published(labels: Collection[str]) -> dict[str, SeriesStyle]:
    """Return how the series of published points look."""
    return {name: _style(rank) for rank, name in enumerate(sorted(labels))}


def with_published(
    rows: pd.DataFrame, published: pd.DataFrame, x: str
) -> tuple[pd.DataFrame, dict[str, SeriesStyle], list[str]]:
    """Return the rows with published points of their problems, the points' looks, and what a caption says."""
    import pandas as pd

    points, notes = matching(rows, published), []
    if points.empty:
        points, problem = nearest(rows, published, x)
        notes = [f"No published point is of a measured problem; the nearest: {'; '.join(problem)}."]
    if points.empty:
        return rows, {}, [NONE_MATCHES]
    points = points.drop_duplicates([*PROBLEM_COLUMNS, "label", SOURCE, "tflops"])
    looks = looks_of_published(set(points["label"]))
    labels = rows["label"].cat.categories.union(list(looks), sort=False)
    drawn = points.assign(tflops_low=points["tflops"], tflops_high=points["tflops"])
    both = pd.concat([rows.astype({"label": object}), drawn.drop(columns=["device", "implementation"])])
    both = both.reset_index(drop=True).astype({"label": pd.CategoricalDtype(labels, ordered=True)})
    return both, looks, [*notes, sources(points)]


def _style(rank: int) -> SeriesStyle:
    return SeriesStyle(
        COLORS[rank % len(COLORS)],
        SIBLING_MARKERS[rank % len(SIBLING_MARKERS)],
        DOTTED,
        SIBLING_HATCHES[rank % len(SIBLING_HATCHES)],
        is_hollow=True,
        is_published=True,
    )

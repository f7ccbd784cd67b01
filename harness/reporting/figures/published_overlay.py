"""Published points in a throughput figure: rows with a source, hatched or hollow beside measured ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.reporting.figures.style import DOTTED, SIBLING_HATCHES, SIBLING_MARKERS, SeriesStyle
from harness.reporting.frames import PROBLEM_COLUMNS, records
from harness.reporting.published.nearest import nearest
from harness.reporting.published.points import SOURCE, matching, places_of, sources

if TYPE_CHECKING:
    import pandas as pd

FAR = 4.0
"""Published lines above so many times the highest measurement need a logarithmic scale."""
NONE_MATCHES = "No published point is overlaid"
COLORS = (
    *("#5f5f5f", "#8a5a83", "#8c6d31", "#3d7a80", "#a05050"),
    *("#4f6d9c", "#6b7d2f", "#b0708f", "#7a4f2a", "#2f6b4f"),
)
"""Of implementations; series of one differ in their markers and hatches."""


def is_far_above(rows: pd.DataFrame) -> bool:
    """Whether published rows are too far above the measured ones for one linear scale."""
    if SOURCE not in rows:
        return False
    is_measured = rows[SOURCE].isna()
    if not is_measured.any():
        return False
    return bool(rows.loc[~is_measured, "tflops"].max() > FAR * rows.loc[is_measured, "tflops"].max())


def looks_of_published(points: pd.DataFrame) -> dict[str, SeriesStyle]:
    """Return how series of published points look: the same in all figures, but no two alike in one."""
    series = points[["label", "color_number", "marker_number"]].drop_duplicates("label")
    looks: dict[str, SeriesStyle] = {}
    for row in records(series.sort_values(["color_number", "marker_number"])):
        taken = {(look.color, look.marker) for look in looks.values()}
        styles = [_style(row["color_number"] + other, row["marker_number"]) for other in range(len(COLORS))]
        free = [style for style in styles if (style.color, style.marker) not in taken]
        looks[str(row["label"])] = (free or styles)[0]
    return {str(label): looks[str(label)] for label in series["label"]}


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
        return rows, {}, [f"{NONE_MATCHES}: {_why_none(rows)}."]
    points = points.drop_duplicates([*PROBLEM_COLUMNS, "label", SOURCE, "tflops"])
    looks = looks_of_published(points.sort_values("label"))
    labels = rows["label"].cat.categories.union(list(looks), sort=False)
    drawn = points.assign(tflops_low=points["tflops"], tflops_high=points["tflops"])
    both = pd.concat([rows.astype({"label": object}), drawn.drop(columns=["device", "implementation"])])
    both = both.reset_index(drop=True).astype({"label": pd.CategoricalDtype(labels, ordered=True)})
    return both, looks, [*notes, sources(points)]


def _why_none(rows: pd.DataFrame) -> str:
    """Return why no published point is of a problem like those of some rows."""
    is_square = rows["seq_q"] == rows["seq_kv"]
    if not is_square.any():
        return "each has as many queries as keys, and no row has"
    if places_of(rows).empty:
        return "each is of a plain problem, with the FLOPs of visible pairs, and no row is"
    rest = "all rows" if is_square.all() else "all rows with as many queries as keys"
    return f"each is of another dtype or mask than {rest}"


def _style(color: int, marker: int) -> SeriesStyle:
    return SeriesStyle(
        COLORS[color % len(COLORS)],
        SIBLING_MARKERS[marker % len(SIBLING_MARKERS)],
        DOTTED,
        SIBLING_HATCHES[marker % len(SIBLING_HATCHES)],
        is_published=True,
    )

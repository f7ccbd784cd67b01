"""Which published points are of problems that were measured, and what a reader must know of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness.problem.attention_problem import FLOP_CONVENTION, TOLD_WITH_OTHERS
from harness.problem.fields import problem_fields
from harness.reporting.frames import format_value, is_missing, records
from harness.reporting.published.points import OUT_OF_MEMORY, PublishedPoint, PublishedProblem
from harness.reporting.units import significant

if TYPE_CHECKING:
    import pandas as pd

PLAIN_MASKS = {"full": False, "causal": True, "causal-top-left": True}
"""The masks that sources publish numbers of, and whether they are causal."""
COMPARED = TOLD_WITH_OTHERS | {"scale", "sinks"}
"""Fields that tell published problems apart, or that the name of the mask tells; others are as usual."""
SHAPE = ("dtype", "batch", "heads", "kv_heads", "head_dim", "seq_q", "mask")
"""What a person is told that was compared."""
MOST_VALUES = 4


def published_problem(row: Mapping[str, Any]) -> PublishedProblem | None:
    """Return what a source would have to publish a number of; None where none of them could have."""
    is_plain = (
        row["mask"] in PLAIN_MASKS
        and row["seq_q"] == row["seq_kv"]
        and row["head_dim"] == row["head_dim_v"]
        and all(
            is_missing(value := row.get(name)) or value == field.default
            for name, field in problem_fields().items()
            if name not in COMPARED
        )
    )
    if not is_plain:
        return None
    return PublishedProblem(
        dtype=str(row["dtype"]),
        batch=int(row["batch"]),
        heads=int(row["heads"]),
        kv_heads=int(row["kv_heads"]),
        seq=int(row["seq_q"]),
        head_dim=int(row["head_dim"]),
        is_causal=PLAIN_MASKS[row["mask"]],
        has_sinks=_is_true(row.get("sinks")),
    )


def matching(
    frame: pd.DataFrame, points: Iterable[PublishedPoint], x: str
) -> list[tuple[Any, PublishedPoint]]:
    """Return the points of the frame's problems, each with its place: the value of the column `x`.

    Rows that count operations by another convention have none.
    """
    places: dict[PublishedProblem, dict[Any, None]] = {}
    for row in records(frame[frame["flop_convention"] == FLOP_CONVENTION]):
        problem = published_problem(row)
        if problem is not None:
            places.setdefault(problem, {})[row[x]] = None
    return [(place, point) for point in points for place in places.get(point.problem, ())]


def mixed_places(frame: pd.DataFrame, x: str) -> set[Any]:
    """Return the values of the column `x` at which rows are of several problems, as points tell them apart.

    A point there would stand beside a row that it does not belong to.
    """
    problems: dict[Any, set[PublishedProblem | None]] = {}
    for row in records(frame):
        problems.setdefault(row[x], set()).add(published_problem(row))
    return {place for place, of_place in problems.items() if len(of_place) > 1}


def nothing_matches(frame: pd.DataFrame, points: Sequence[PublishedPoint]) -> str:
    """Return a line that says what was compared where no point is of a measured problem."""
    values = "; ".join(f"{name} {_values(frame, name)}" for name in SHAPE if name in frame)
    return (
        f"none of {len(points)} published points is of a measured problem: no row agrees with one in dtype, "
        f"batch, heads, key/value heads, head dim, length and mask (measured: {values})"
    )


def other_conventions(frame: pd.DataFrame) -> str | None:
    """Return a line about rows whose operations are counted otherwise than the published ones."""
    others = frame.loc[frame["flop_convention"] != FLOP_CONVENTION, "flop_convention"]
    if others.empty:
        return None
    conventions = "; ".join(map(str, others.drop_duplicates()))
    return (
        f"{len(others)} of {len(frame)} rows count FLOPs otherwise than published points do ({conventions}): "
        "no point is overlaid on them"
    )


def sources(points: Iterable[PublishedPoint]) -> str:
    """Return a sentence that names what was published where."""
    by_source: dict[str, dict[str, dict[str, None]]] = {}
    for point in points:
        by_source.setdefault(point.source, {}).setdefault(point.device, {})[point.implementation] = None
    named = []
    for source, devices in by_source.items():
        measured = "; ".join(f"{device}: {' · '.join(names)}" for device, names in devices.items())
        named.append(f"{source} ({measured})")
    return f"Hatched or hollow: published by others, not measured here; from {'; '.join(named)}."


def disagreements(points: Iterable[PublishedPoint]) -> Iterator[str]:
    """Yield a sentence for each kernel and problem of which different numbers were published."""
    numbers: dict[tuple[str, PublishedProblem], dict[str, None]] = {}
    for point in points:
        value = OUT_OF_MEMORY if point.tflops is None else significant(point.tflops)
        numbers.setdefault((point.series, point.problem), {})[value] = None
    for (series, problem), values in numbers.items():
        if len(values) > 1:
            yield (
                f"Published numbers disagree: {series}, {problem.describe()}: {' and '.join(values)} "
                "TFLOP/s; all are shown."
            )


def _is_true(value: Any) -> bool:
    return not is_missing(value) and bool(value)


def _values(frame: pd.DataFrame, column: str) -> str:
    found = frame[column].dropna().unique().tolist()
    if len(found) > MOST_VALUES and not isinstance(found[0], str):
        return f"{format_value(min(found))} … {format_value(max(found))}"
    return ", ".join(map(format_value, found))

"""Rows of results put into a grid: columns of results down and across, values in the cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from harness.reporting.frames import in_words, is_missing, records, sort_key
from harness.reporting.units import EMPTY, is_number
from harness.system.status import Status

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Value:
    """What the cells of a grid, or of some of its columns, hold."""

    name: str
    """As a file of numbers calls it."""
    header: str
    """As a reader sees it, with its unit."""
    text: Callable[[Row], str]
    number: Callable[[Row], Any]
    """Its number, unrounded."""


def outcome(row: Row) -> str:
    """Return what stands in the place of a number that a row lacks: what became of it."""
    return EMPTY if row["status"] == Status.PASSED else str(row["status"])


def grid_of(
    frame: pd.DataFrame,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Value],
    *,
    as_numbers: bool = False,
) -> pd.DataFrame:
    """Return the cells of a grid as texts, or as numbers, of rows that are one for each cell.

    Its index has the values of `rows` in words; its columns have a value's header, or its name, then those of
    `columns`.  A cell without a row is empty.
    """
    keys = {name: _in_order(frame, name) for name in (*rows, *columns)}
    numbered = pd.DataFrame(keys).assign(**{_PLACE: range(len(frame))})
    if columns:
        places = numbered.pivot(index=list(rows), columns=list(columns), values=_PLACE).sort_index(
            axis="columns"
        )
    else:
        places = numbered.set_index(list(rows))[[_PLACE]].sort_index()
    lines = records(frame)

    def cell(value: Value, place: Any) -> Any:
        if not is_number(place):
            return None if as_numbers else EMPTY
        row = lines[int(place)]
        return value.number(row) if as_numbers else value.text(row)

    across = [_texts(key) for key in places.columns] if columns else [()]
    cells = [
        [cell(value, place) for value in values for place in of_row]
        for of_row in places.to_numpy(dtype=object).tolist()
    ]
    headers = [(value.name if as_numbers else value.header, *key) for value in values for key in across]
    return pd.DataFrame(
        cells,
        index=pd.MultiIndex.from_tuples(map(_texts, places.index), names=list(rows)),
        columns=pd.MultiIndex.from_tuples(headers, names=[None, *columns]),
    )


def flat(grid: pd.DataFrame, joint: str = " ") -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return headers, each in one text, and rows of a grid, the texts of its index first."""
    headers = [*map(str, grid.index.names), *(joint.join(_texts(key)) for key in grid.columns)]
    cells = grid.to_numpy(dtype=object).tolist()
    return headers, [(*key, *of_row) for key, of_row in zip(grid.index, cells, strict=True)]


_PLACE = "place of the row"


def _in_order(frame: pd.DataFrame, name: str) -> pd.Categorical[str]:
    """Return a column in words, in the order of its values; variants in that of the series."""
    column = frame[name]
    if name == "variant":
        values = list(dict.fromkeys(frame.sort_values("label", kind="stable")[name]))
    elif isinstance(column.dtype, pd.CategoricalDtype):
        values = list(column.cat.categories)
    else:
        values = sorted(column.unique().tolist(), key=sort_key)
    words = column.astype(object).map(_word, na_action=None)
    return pd.Categorical(words, list(dict.fromkeys(map(_word, values))), ordered=True)


def _word(value: Any) -> str:
    return EMPTY if is_missing(value) else in_words(value)


def _texts(key: Any) -> tuple[str, ...]:
    """Return a key of an index as texts, also where the index has one level."""
    return tuple(map(str, key)) if isinstance(key, tuple) else (str(key),)

"""The results table: a pandas frame made of rows."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

from harness.results.result import BY_NAME, PRINTED, SEQ, Result, printed_params

if TYPE_CHECKING:
    import pandas

PARAMETER_PREFIX = "param."

ROWS_AT_A_TIME = 256
"""Rows that become parts of columns at once: as many as caches hold."""


def results_frame(results: Iterable[Result]) -> "pandas.DataFrame":
    """Return results as a table: a row each, columns in the order of the fields of `Result`.

    Instead of `params` and `chosen` there are their printable texts, and a column `param.<name>` for each
    parameter that is set; instead of `stage_s` a column `stage_s.<stage>` in seconds, and so on for the
    fields of `BY_NAME`.  An integer or truth value that can be missing has one of pandas' nullable types; a
    missing float is NaN.
    """
    import pandas

    values: dict[str, list[Any]] = {name: [] for name in Result.model_fields}
    in_order, left = itemgetter(*values), iter(results)
    while rows := [in_order(vars(result)) for result in itertools.islice(left, ROWS_AT_A_TIME)]:
        for column, cells in zip(values.values(), zip(*rows, strict=True), strict=True):
            column.extend(cells)
    columns: dict[str, pandas.Series[Any]] = {}
    for field, of_rows in values.items():
        if field in BY_NAME:
            for name, entries in _entries_by_name(of_rows):
                columns[f"{field}.{name}"] = pandas.Series(entries, dtype=dtype_of(_named_dtype(entries)))
            continue
        if field == "seq_q":
            pairs = zip(of_rows, values["seq_kv"], strict=True)
            equal = [queries if queries == keys else None for queries, keys in pairs]
            columns[SEQ] = pandas.Series(equal, dtype="Int64")
        texts = map(printed_params, of_rows) if field in PRINTED else of_rows
        columns[field] = pandas.Series(list(texts), dtype=dtype_of(column_dtype(field)))
        if field == "params":
            for name, entries in sorted(_entries_by_name(of_rows)):
                dtype = dtype_of(_common_dtype(entries))
                columns[f"{PARAMETER_PREFIX}{name}"] = pandas.Series(entries, dtype=dtype)
    return pandas.DataFrame(columns, copy=False)


def newest_of_each_case(frame: "pandas.DataFrame") -> "pandas.DataFrame":
    """Return the last row of each case of each run, in the order in which the cases first finished."""
    keys = ["experiment", "run", "case"]
    is_newest = ~frame.duplicated(keys, keep="last")
    first_finished = frame.groupby(keys, sort=False).ngroup()[is_newest]
    return frame.loc[first_finished.sort_values().index].reset_index(drop=True)


def dtype_of(name: str) -> Any:
    """Return the dtype that a name stands for in tables.

    `str` is pandas' type of texts, whatever an option of pandas makes of that name.
    """
    import numpy as np
    import pandas

    if name == "str":
        return pandas.StringDtype("pyarrow", na_value=np.nan)
    return pandas.api.types.pandas_dtype(name)


def column_dtype(name: str) -> str:
    """Return the dtype of the column of a field that is not a mapping with columns of its own."""
    field = Result.model_fields[name]
    is_required = field.is_required()
    dtypes = {
        int: "int64" if is_required else "Int64",
        float: "float64",
        bool: "bool" if is_required else "boolean",
    }
    return dtypes.get(_plain_type(field.annotation), "str")


def _entries_by_name(mappings: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, list[Any]]]:
    for name in dict.fromkeys(name for mapping in mappings for name in mapping):
        yield name, [mapping.get(name) for mapping in mappings]


def _plain_type(annotation: Any) -> Any:
    if get_origin(annotation) is Annotated:
        return get_args(annotation)[0]
    alternatives = [kind for kind in get_args(annotation) if kind is not type(None)]
    return _plain_type(alternatives[0]) if alternatives else annotation


def _named_dtype(values: Sequence[Any]) -> str:
    return "str" if any(isinstance(value, str) for value in values) else "float64"


def _common_dtype(values: list[Any]) -> str:
    """Return the narrowest dtype that holds all values of a parameter; variants may differ in its type."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return "boolean"
    if kinds == {int}:
        return "Int64"
    return "float64" if kinds and kinds <= {int, float} else "str"

"""The results table: a pandas frame made of rows.

Rows are taken in batches, each of which becomes columns at once, so that a journal of a million rows needs
little more memory than its table.
"""

import itertools
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

from harness.results.result import BY_NAME, PRINTED, SEQ, Result, printed_params

if TYPE_CHECKING:
    import numpy as np
    import pandas
    import pyarrow

BATCH = 20_000
"""Rows that become columns of the table together."""

PIECE = 50
"""Rows whose values are sorted into columns together: few enough for a processor's cache to hold them."""

PARAMETER_PREFIX = "param."
"""Begins the names of the columns of parameters."""

_all_fields = operator.itemgetter(*Result.model_fields)


def results_frame(results: Iterable[Result]) -> "pandas.DataFrame":
    """Return results as a table: a row each, columns in the order of the fields of `Result`.

    Instead of `params` and `chosen` there are their printable texts, and a column `param.<name>` for each
    parameter that is set; instead of `stage_s` a column `stage_s.<stage>` in seconds, and so on for the
    fields of `BY_NAME`.  An integer or truth value that can be missing has one of pandas' nullable types; a
    missing float is NaN.
    """
    rows, columns = iter(results), _Columns()
    while columns.add(itertools.islice(rows, BATCH)):
        pass
    return columns.frame()


def newest_of_each_case(frame: "pandas.DataFrame", lengths: Sequence[int]) -> "pandas.DataFrame":
    """Return the last row of each case of each run, in the order in which the cases first finished.

    The frame holds one run after the other, `lengths` says how many rows each has.
    """
    import numpy as np

    runs = np.repeat(np.arange(len(lengths)), lengths)
    codes = frame.groupby([runs, "case"], sort=False).ngroup().to_numpy()
    newest = np.zeros(codes.max(initial=-1) + 1, dtype=np.int64)
    newest[codes] = np.arange(len(frame))  # of several values for one place the last one stays
    return frame if len(newest) == len(frame) else frame.iloc[newest].reset_index(drop=True)


def is_among(texts: "pandas.Series[str]", values: "Sequence[str] | pandas.Series[str]") -> "np.ndarray":
    """Return which texts are among some values, and not missing.

    `Series.isin` makes a Python object of each value: of a million cases that takes seconds.
    """
    from pyarrow import compute

    found = compute.is_in(arrow_texts(texts), value_set=arrow_texts(values).drop_null())
    return found.to_numpy(zero_copy_only=False)


def arrow_texts(texts: "Sequence[str] | pandas.Series[str]") -> "pyarrow.LargeStringArray":
    """Return texts as one array of pyarrow's, null where they are missing; it shares a column's memory."""
    import pyarrow

    found = pyarrow.array(texts, type=pyarrow.large_string(), from_pandas=True)
    return found.combine_chunks() if isinstance(found, pyarrow.ChunkedArray) else found


def dtype_of(name: str) -> Any:
    """Return the dtype that a name stands for in tables.

    `str` is pandas' type of texts, whatever an option of pandas makes of that name.
    """
    import numpy as np
    import pandas

    if name == "str":
        return pandas.StringDtype("pyarrow", na_value=np.nan)
    return pandas.api.types.pandas_dtype(name)


class _Columns:
    """The columns of the rows so far."""

    def __init__(self) -> None:
        self._plain: dict[str, list[pandas.Series[Any]]] = {
            name: [] for name in Result.model_fields if name not in BY_NAME
        }
        self._numbers: dict[str, _NamedColumns] = {field: _NamedColumns() for field in BY_NAME}
        self._parameters = _NamedColumns()

    def add(self, results: Iterable[Result]) -> bool:
        """Append rows; return whether there were any."""
        found = _values_by_field(results)
        if not found["case"]:
            return False
        for field, named in self._numbers.items():
            named.add(found[field])
        self._parameters.add(found["params"])
        for field in PRINTED:
            found[field] = list(map(printed_params, found[field]))
        found["status"] = [status.value for status in found["status"]]
        for name, parts in self._plain.items():
            parts.append(_column(name, found[name]))
        return True

    def frame(self) -> "pandas.DataFrame":
        """Return all rows as a table."""
        import pandas

        columns: dict[str, pandas.Series[Any]] = {}
        for field in Result.model_fields:
            if field in BY_NAME:
                for name, values in self._numbers[field].columns():
                    columns[f"{field}.{name}"] = pandas.Series(values, dtype=dtype_of(_named_dtype(values)))
                continue
            parts = self._plain[field]
            if field == "seq_q":
                columns[SEQ] = self._longer_lengths()
            columns[field] = pandas.concat(parts, ignore_index=True) if parts else _column(field, [])
            if field == "params":
                for name, values in sorted(self._parameters.columns()):
                    dtype = dtype_of(_common_dtype(values))
                    columns[f"{PARAMETER_PREFIX}{name}"] = pandas.Series(values, dtype=dtype)
        return pandas.DataFrame(columns, copy=False)

    def _longer_lengths(self) -> "pandas.Series[Any]":
        """Return `seq`, the longer of both lengths, as in conditions and filters."""
        import numpy as np
        import pandas

        parts = [
            pandas.Series(np.maximum(queries.to_numpy(), keys.to_numpy()))
            for queries, keys in zip(self._plain["seq_q"], self._plain["seq_kv"], strict=True)
        ]
        return pandas.concat(parts, ignore_index=True) if parts else _column("seq_q", [])


class _NamedColumns:
    """The columns that come of a field whose value is a mapping: one for each name that any row has."""

    def __init__(self) -> None:
        self._length = 0
        self._values: dict[str, list[Any]] = {}

    def add(self, entries: Sequence[Mapping[str, Any]]) -> None:
        """Append the field's value of further rows."""
        for name in dict.fromkeys(name for entry in entries for name in entry):
            column = self._values.setdefault(name, [])
            column += [None] * (self._length - len(column))
            column += [entry.get(name) for entry in entries]
        self._length += len(entries)

    def columns(self) -> Iterator[tuple[str, list[Any]]]:
        """Yield each name and its values, None where a row does not have it."""
        for name, values in self._values.items():
            yield name, values + [None] * (self._length - len(values))


def _values_by_field(results: Iterable[Result]) -> dict[str, list[Any]]:
    """Return the values of each field, in the order of the rows."""
    found: dict[str, list[Any]] = {name: [] for name in Result.model_fields}
    rows = iter(results)
    while piece := list(itertools.islice(rows, PIECE)):
        of_fields = zip(*map(_all_fields, map(vars, piece)), strict=True)
        for values, further in zip(found.values(), of_fields, strict=True):
            values.extend(further)
    return found


def column_dtype(name: str) -> str:
    """Return the dtype of the column of a field that is neither a mapping nor printed by names."""
    field = Result.model_fields[name]
    is_required = field.is_required()
    dtypes = {
        int: "int64" if is_required else "Int64",
        float: "float64",
        bool: "bool" if is_required else "boolean",
    }
    return dtypes.get(_plain_type(field.annotation), "str")


def _column(name: str, values: Sequence[Any]) -> "pandas.Series[Any]":
    import numpy as np
    import pandas

    dtype = dtype_of(column_dtype(name))
    if len(values) > 1 and values.count(values[0]) == len(values):  # by far the most columns of most runs
        return pandas.Series(values[:1], dtype=dtype).take(np.zeros(len(values), dtype=np.intp))
    return pandas.Series(values, dtype=dtype)


def _plain_type(annotation: Any) -> Any:
    """Return `int` of `int | None`, and so on."""
    alternatives = [kind for kind in get_args(annotation) if kind is not type(None)]
    return alternatives[0] if alternatives else annotation


def _named_dtype(values: Sequence[Any]) -> str:
    """Return the dtype of an entry's column: numbers, unless the entry is a word."""
    return "str" if any(isinstance(value, str) for value in values) else "float64"


def _common_dtype(values: list[Any]) -> str:
    """Return the narrowest dtype that holds all values of a parameter; variants may differ in its type."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return "boolean"
    if kinds == {int}:
        return "Int64"
    return "float64" if kinds and kinds <= {int, float} else "str"

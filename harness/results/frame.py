"""The results table: a pandas frame made of rows."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, get_args

from harness.results.result import BY_NAME, SEQ, Result

if TYPE_CHECKING:
    import pandas


def results_frame(results: Iterable[Result]) -> "pandas.DataFrame":
    """Return results as a table: a row each, columns in the order of the fields of `Result`.

    Instead of `params` there are its printable text and a column `param.<name>` for each parameter, instead
    of `stage_s` a column `stage_s.<stage>` in seconds.  An integer or truth value that can be missing has one
    of pandas' nullable types; a missing float is NaN.
    """
    import pandas

    rows = [result.as_row() for result in results]
    columns = {name: [row.get(name) for row in rows] for name in _column_names(rows)}
    return pandas.DataFrame({name: _column(name, values) for name, values in columns.items()})


def _column_names(rows: list[dict[str, Any]]) -> list[str]:
    """Return the fields in order, each followed by the columns that its names make."""
    present = dict.fromkeys(name for row in rows for name in row)
    names: list[str] = []
    for field in Result.model_fields:
        if field == "seq_q":
            names.append(SEQ)
        if field == "params":
            names += [field, *sorted(name for name in present if name.startswith("param."))]
        elif field in BY_NAME:
            names += [name for name in present if name.startswith(f"{field}.")]
        else:
            names.append(field)
    return names


def _column(name: str, values: list[Any]) -> "pandas.Series[Any]":
    import pandas

    if name.startswith("param."):
        return pandas.Series(values, dtype=_common_dtype(values))
    field = Result.model_fields.get("seq_q" if name == SEQ else name)
    kind = float if field is None else _plain_type(field.annotation)
    is_required = field is not None and field.is_required()
    dtypes = {
        int: "int64" if is_required else "Int64",
        float: "float64",
        bool: "bool" if is_required else "boolean",
    }
    return pandas.Series(values, dtype=dtypes.get(kind, "str"))


def _plain_type(annotation: Any) -> Any:
    """Return `int` of `int | None`, and so on."""
    alternatives = [kind for kind in get_args(annotation) if kind is not type(None)]
    return alternatives[0] if alternatives else annotation


def _common_dtype(values: list[Any]) -> str:
    """Return the narrowest dtype that holds all values of a parameter; variants may differ in its type."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return "boolean"
    if kinds == {int}:
        return "Int64"
    return "float64" if kinds and kinds <= {int, float} else "str"

"""A table of published points, the package's own or a reader's: a CSV file with a point in each row."""

from __future__ import annotations

import csv
import functools
import importlib.resources
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, ValidationError

from harness.problem.dtypes import DTypeName
from harness.system.errors import InputError
from harness.system.numbers import INTEGER_LIMIT, Positive
from harness.system.printable import printable
from harness.system.status import Status
from harness.system.storage.reading import unusable
from harness.system.validation import FrozenModel, messages, shown, unknown_name

if TYPE_CHECKING:
    import pandas as pd

TABLE = "attention_forward.csv"
OUT_OF_MEMORY = "OOM"
"""What stands in a table where the source says that memory ran out."""
PlainMask = Literal["full", "causal", "causal-top-left"]

Size = Annotated[int, Field(gt=0, lt=INTEGER_LIMIT)]


class PublishedPoint(FrozenModel):
    """A row of such a table: what was measured, on which problem, and who says so."""

    device: str = ""
    implementation: Annotated[str, Field(min_length=1)]
    version: str = ""
    dtype: DTypeName
    batch: Size
    heads: Size
    kv_heads: Size | None = None
    """As many as `heads` if not given."""
    seq: Size
    """Of queries and of keys."""
    head_dim: Size
    head_dim_v: Size | None = None
    """As wide as `head_dim` if not given."""
    mask: PlainMask = "full"
    sinks: bool = False
    tflops: Positive | Literal["OOM"]
    source: str = ""
    """The file's name if not given."""


def points_of_file(path: Path) -> pd.DataFrame:
    """Return the points of a reader's own table; `InputError` has file, line and column of what is wrong."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise unusable(path, error) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not text in UTF-8: byte {error.start} is none") from error
    points = list(_points(text, str(path), path.name))
    if not points:
        raise InputError(f"{path}: found no row, expected a published point in each")
    return _frame(points)


@functools.cache
def points_of_package() -> pd.DataFrame:
    """Return the points of the package's own table."""
    text = importlib.resources.files(__package__).joinpath(TABLE).read_text(encoding="utf-8")
    return _frame(_points(text, TABLE, TABLE))


def _points(text: str, place: str, source: str) -> Iterator[PublishedPoint]:
    """Yield the points of a table; `place` begins messages, `source` is that of rows without one."""
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        _check_columns(list(reader.fieldnames or ()), place)
        for row in reader:
            line = f"{place}: line {reader.line_num}"
            if None in row:
                cells = len(reader.fieldnames or ()) + len(row[None])
                raise InputError(f"{line}: found {cells} cells, expected {len(reader.fieldnames or ())}")
            values = {"source": source} | {
                name: printable(cell.strip()) for name, cell in row.items() if cell
            }
            try:
                yield PublishedPoint.model_validate(values)
            except ValidationError as error:
                raise InputError(f"{line}, column {_mistake(error)}") from error
    except csv.Error as error:
        raise InputError(f"{place}: line {reader.line_num}: {error}") from error


def _check_columns(columns: list[str], place: str) -> None:
    fields = PublishedPoint.model_fields
    for name in columns:
        if name not in fields:
            raise InputError(f"{place}: line 1: {unknown_name('column', name, fields)}")
        if columns.count(name) > 1:
            raise InputError(f"{place}: line 1: found column {name} twice, expected it once")
    missing = [name for name, field in fields.items() if field.is_required() and name not in columns]
    if missing:
        raise InputError(f"{place}: line 1: found no column {', '.join(missing)}, expected one for each")


def _mistake(error: ValidationError) -> str:
    """Return the first thing that is wrong with a row; of `tflops`, which may be a word, in words."""
    detail = error.errors(include_url=False)[0]
    if detail["loc"][0] == "tflops" and detail["type"] != "missing":
        return f"tflops: found {shown(detail['input'])}, expected a number above 0, or {OUT_OF_MEMORY}"
    return messages(error)[0]


def _frame(points: Iterable[PublishedPoint]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(map(_row, points))


def _row(point: PublishedPoint) -> dict[str, Any]:
    is_out_of_memory = point.tflops == OUT_OF_MEMORY
    return {
        **point.model_dump(include={"device", "implementation", "version", "dtype", "batch", "heads"}),
        "kv_heads": point.kv_heads or point.heads,
        "seq_q": point.seq,
        "head_dim": point.head_dim,
        "head_dim_v": point.head_dim_v or point.head_dim,
        "causal": point.mask != "full",
        "sinks": point.sinks,
        "tflops": float("nan") if is_out_of_memory else point.tflops,
        "source": point.source,
        "status": str(Status.OUT_OF_MEMORY if is_out_of_memory else Status.PASSED),
    }

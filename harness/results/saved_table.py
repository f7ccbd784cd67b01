"""The table of a run as a Parquet file: read instead of the journal while it is the journal's.

Parsing and validating a line of the journal costs a hundred times what a row of columns does.  So the file
says which journal it was made from, by the SHA-256 of its bytes, and how its columns were made; where either
is another, it is not used.  A results folder may come from somebody else, and its digest can be made to fit
whatever the columns hold.  So they must also be what rows of a journal can give: the same columns, types and
ranges, texts that are printable, and no more of them than the journal has room for.
"""

import hashlib
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.digest import digest
from harness.errors import is_no_thread
from harness.results.format_version import FORMAT_VERSION
from harness.results.frame import PARAMETER_PREFIX, column_dtype, dtype_of
from harness.results.result import (
    BY_NAME,
    COUNTED,
    KNOWN_WHEN_FINITE,
    LONGEST_NAME,
    MEASURED,
    SEQ,
    SHARES_OF_A_PEAK,
    TIMING_FIELDS,
    Result,
)
from harness.status import Status
from harness.storage.reading import open_to_read

if TYPE_CHECKING:
    import pandas
    import pyarrow
    from pyarrow import parquet

JOURNAL_KEY = b"harness.journal"
LAYOUT_KEY = b"harness.layout"
"""What the file's metadata say: digests of the journal, and of how a table is made of rows."""

LAYOUT = digest(
    [
        FORMAT_VERSION,
        [(name, str(field.annotation)) for name, field in Result.model_fields.items()],
        "without refuted peaks",
    ]
)
"""Digest of the fields that rows have, and of what a table leaves out: tables of other versions of this
package are not used."""

COLUMNS_AT_ONCE = 16
"""Columns that are read together, and then take the memory of those before them."""

ALWAYS_READ = ("case", "status")
"""Columns that others are checked by."""

PARAMETER_TYPES = {"int64": "Int64", "bool": "boolean", "double": "float64", "large_string": "str"}
NUMBER_OR_WORD_TYPES = {"double": "float64", "large_string": "str"}
"""Type in the file, and dtype in the table, of columns that come of names in rows."""


class _NotOfTheJournalError(ValueError):
    """What a file holds is no table of this journal."""


def write_table(frame: "pandas.DataFrame", path: Path, journal: str) -> None:
    """Write the table of a journal that has this digest, see `journal_digest`."""
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    said = {JOURNAL_KEY: journal.encode(), LAYOUT_KEY: _layout(table.column_names).encode()}
    metadata = {**(table.schema.metadata or {}), **said}
    parquet.write_table(table.replace_schema_metadata(metadata), path, write_page_checksum=True)


def _layout(names: Sequence[str]) -> str:
    """Return the digest of how a table is made, and of its columns' names, which no checksum covers."""
    return digest([LAYOUT, list(names)])


def journal_digest(journal: Path) -> str:
    """Return the SHA-256 of a journal as it is now; that of nothing, where there is none."""
    try:
        with open_to_read(journal) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return hashlib.sha256().hexdigest()


def read_table(
    path: Path, journal: Path, columns: Collection[str] | None = None
) -> "pandas.DataFrame | None":
    """Return the table that `write_table` has made of a journal, or None where the journal is to be read.

    So it is where there is no such file, it cannot be read, the journal has changed since, another version
    has made it, the system refuses the thread that reads beside, or it holds what no journal can give.
    Where only some columns are asked for, others are not looked at.
    """
    import pyarrow

    try:
        with open_to_read(path) as file:
            frame = _read(file, journal, columns)
        _check_rows(frame)
    except (OSError, ValueError, pyarrow.ArrowException):
        return None
    except RuntimeError as error:
        if not is_no_thread(error):
            raise
        return None
    return frame


def _read(file: Any, journal: Path, wanted: Collection[str] | None) -> "pandas.DataFrame":
    """Return the table in a file of this journal; texts are read as numbers of entries of a dictionary."""
    import pandas
    from pyarrow import parquet

    metadata = parquet.read_metadata(file)
    said = metadata.metadata or {}
    room = journal.stat().st_size
    names = metadata.schema.to_arrow_schema().names
    _require(said.get(LAYOUT_KEY) == _layout(names).encode(), "another layout")
    _require(names == list(_expected_names(names)), "other columns")
    _require(metadata.num_rows * metadata.num_columns <= room, "more cells than the journal has letters")
    texts = [field.name for field in metadata.schema.to_arrow_schema() if _is_text(field.type)]
    chosen = [name for name in names if wanted is None or name in wanted or name in ALWAYS_READ]
    with ThreadPoolExecutor(max_workers=1) as beside:
        digest_now = beside.submit(journal_digest, journal)  # of a long run it takes as long as the table
        columns = _columns(
            parquet.ParquetFile(
                file, metadata=metadata, read_dictionary=texts, page_checksum_verification=True
            ),
            chosen,
            room,
        )
        series = {name: _series(name, column) for name, column in zip(chosen, columns, strict=True)}
        _require(said.get(JOURNAL_KEY) == digest_now.result().encode(), "another journal")
    return pandas.DataFrame(series, copy=False)


def _columns(file: "parquet.ParquetFile", names: Sequence[str], room: int) -> "Iterator[pyarrow.Array]":
    """Yield the columns, whose texts have no more than so many letters; a few of them are in memory."""
    letters = 0
    for start in range(0, len(names), COLUMNS_AT_ONCE):
        part = names[start : start + COLUMNS_AT_ONCE]
        table = file.read(columns=part)  # and those whose names go on after one of these and a dot
        _require(set(part) <= set(table.column_names), "other columns")
        table = table.select(part)
        _require(table.num_rows == file.metadata.num_rows, "other rows than it says")
        table.validate(full=True)
        for column in map(_in_one_chunk, table.columns):
            letters += _checked_letters(column)
            _require(letters <= room, "more text than the journal has")
            yield column


def _in_one_chunk(column: "pyarrow.ChunkedArray") -> "pyarrow.Array":
    """Return a column as one array; `combine_chunks` would copy it even where it is one."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _is_text(kind: "pyarrow.DataType") -> bool:
    return str(kind) in ("string", "large_string")


def _checked_letters(column: "pyarrow.Array") -> int:
    """Return how many bytes the texts of a column have, which must be printable."""
    import pyarrow
    from pyarrow import compute

    if not isinstance(column, pyarrow.DictionaryArray):
        return 0
    _require(_is_text(column.type.value_type), "a dictionary of other values")
    _require(all(map(str.isprintable, column.dictionary.to_pylist())), "a text that is not printable")
    lengths = compute.take(compute.binary_length(column.dictionary), column.indices)
    return int(compute.sum(lengths).as_py() or 0)


def _expected_names(names: Sequence[str]) -> Iterator[str]:
    """Yield what the columns must be called, if some of them come of the names in rows.

    Those are in the order in which rows first had them, except that parameters are sorted.
    """
    for field in Result.model_fields:
        if field in BY_NAME:
            yield from dict.fromkeys(name for name in names if _comes_of(name, f"{field}."))
            continue
        yield from [SEQ] * (field == "seq_q")
        yield field
        if field == "params":
            yield from sorted({name for name in names if _comes_of(name, PARAMETER_PREFIX)})


def _comes_of(name: str, prefix: str) -> bool:
    return name.startswith(prefix) and name.isprintable()


def _series(name: str, column: "pyarrow.Array") -> "pandas.Series[Any]":
    """Return a column with the dtype that it has in a table of rows."""
    import pandas
    import pyarrow

    if pyarrow.types.is_dictionary(column.type) or _is_text(column.type):
        column = column.cast(pyarrow.large_string())
    kind = str(column.type)
    if name.startswith(PARAMETER_PREFIX):
        dtype = PARAMETER_TYPES.get(kind)
    elif name.partition(".")[0] in BY_NAME:
        dtype = NUMBER_OR_WORD_TYPES.get(kind)
    else:
        dtype = column_dtype("seq_q" if name == SEQ else name)
    if dtype is None or kind != _type_in_file(dtype):
        raise _NotOfTheJournalError(f"{name} is a column of {kind}")
    _require(not (column.null_count and _is_required(name)), f"{name} is missing")
    if dtype in ("int64", "bool", "float64"):
        values = column.to_numpy(zero_copy_only=False, writable=True)
        return pandas.Series(values, dtype=dtype, copy=False)
    extension = dtype_of(dtype)
    return pandas.Series(extension.__from_arrow__(column), dtype=extension, copy=False)


def _type_in_file(dtype: str) -> str:
    return {"str": "large_string", "float64": "double", "boolean": "bool"}.get(dtype, dtype.lower())


def _is_required(name: str) -> bool:
    field = Result.model_fields.get(name)
    return name == SEQ or (field is not None and type(None) not in getattr(field.annotation, "__args__", ()))


def _check_rows(frame: "pandas.DataFrame") -> None:
    """Require of all rows what `Result` requires of each, and that each case has one.

    Of a table of some columns only these are looked at.
    """
    import numpy as np

    if {SEQ, "seq_q", "seq_kv"} <= set(frame.columns):
        lengths = np.maximum(frame["seq_q"].to_numpy(), frame["seq_kv"].to_numpy())
        _require(bool((frame[SEQ].to_numpy() == lengths).all()), "a length that is not the longer one")
    _require(not frame["case"].duplicated().any(), "a case with two rows")
    _require(set(frame["status"].unique()) <= {status.value for status in Status}, "an unknown status")
    for column in filter(frame.__contains__, ("variant", "target")):
        longest = max(map(len, frame[column].dropna().unique()), default=0)
        _require(longest <= LONGEST_NAME, f"{column}: a name that is too long")
    _require_all(frame, COUNTED, lambda values: values >= 0)
    _require_all(frame, MEASURED, lambda values: (values > 0) & (values < np.inf))
    _require_all(frame, KNOWN_WHEN_FINITE, lambda values: abs(values) < np.inf)
    _require_all(frame, SHARES_OF_A_PEAK, lambda values: values <= 1)
    did_not_pass = frame["status"] != Status.PASSED.value
    times = frame.loc[did_not_pass, [name for name in TIMING_FIELDS if name in frame]]
    _require(not times.notna().any(axis=None), "a time of a case that did not pass")


def _require_all(frame: "pandas.DataFrame", columns: Sequence[str], holds: Callable[[Any], Any]) -> None:
    """Require something of all values that are not missing, in those columns that were read."""
    for column in filter(frame.__contains__, columns):
        _require(bool(holds(frame[column].dropna().to_numpy()).all()), f"{column}: impossible values")


def _require(condition: bool, otherwise: str) -> None:
    if not condition:
        raise _NotOfTheJournalError(otherwise)

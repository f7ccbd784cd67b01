"""The table that a person asks for, `variant,dtype by seq`: its words, its cells, its files."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from rich.table import Table
from rich.text import Text

from harness.experiment.condition import parse_condition
from harness.reporting.csv_tables import full_csv
from harness.reporting.distinct import is_of_numbers, numbered
from harness.reporting.figures.base import WHERE_NAMES, FigureSettings, NothingToDraw, choose_rows
from harness.reporting.frames import (
    PROBLEM_COLUMNS,
    RUN_COLUMNS,
    in_words,
    renamed,
    several_values,
    units_of,
)
from harness.reporting.grids import Row, Value, flat, grid_of, outcome
from harness.reporting.latex import grid_latex
from harness.reporting.panel_tables import marks_explained, marks_of
from harness.reporting.summary_columns import Column, measured_columns, summary_title
from harness.reporting.tables import has_unclear_speedup, markdown_rows, whole_table
from harness.reporting.units import (
    GFLOPS,
    MICROSECONDS,
    MILLISECONDS,
    SECONDS,
    TFLOPS,
    UNCLEAR,
    Unit,
    is_number,
    scaled,
    significant,
)
from harness.results.frame import PARAMETER_PREFIX
from harness.system.errors import InputError
from harness.system.printable import markdown_text, printable, spreadsheet_text
from harness.system.storage.replacing import write_text
from harness.system.validation import unknown_name

FORM = "expected ROWS by COLUMNS, such as 'variant by seq' or 'head_dim,variant by dtype,seq'"
SUFFIXES = {"_s": "s", "_bytes": "B", "_mhz": "MHz", "_c": "°C", "_j": "J", "_tflops": "TFLOP/s"}
"""Units of columns by the ends of their names."""


@dataclass(frozen=True)
class AskedTable:
    """A table as it was asked for, ready for any output format."""

    name: str
    """What its files are called."""
    title: str
    texts: pd.DataFrame
    numbers: pd.DataFrame
    """The same cells as numbers; both see `harness.reporting.grids.grid_of`."""
    notes: tuple[str, ...]

    def on_terminal(self) -> Iterator[Table]:
        """Yield it as tables for a terminal, one for each value, in which what rows share stands once."""
        for heading, part in self._parts():
            headers, rows = flat(part, "\n")
            depth = part.index.nlevels
            table = whole_table(heading, [(name, place >= depth) for place, name in enumerate(headers)], rows)
            for place, row in enumerate(rows):
                above = rows[place - 1] if place else [None] * depth
                shared = next((level for level in range(depth - 1) if row[level] != above[level]), depth - 1)
                if place and shared < depth - 1:
                    table.add_section()
                table.add_row(*map(Text, [*[""] * shared, *row[shared:]]))
            yield table

    def write(self, folder: Path) -> list[Path]:
        """Write it as Markdown, LaTeX and numbers separated by commas; return the files."""
        latex = "".join(f"{line}\n" for line in grid_latex(self.texts, self.title, self.notes))
        contents = {"md": self._markdown(), "tex": latex, "csv": self._csv()}
        for ending, content in contents.items():
            write_text(folder / f"{self.name}.{ending}", content)
        return [folder / f"{self.name}.{ending}" for ending in contents]

    def _markdown(self) -> str:
        blocks = [f"**{markdown_text(self.title)}**"]
        for heading, part in self._parts():
            headers, rows = flat(part)
            numeric = [place >= part.index.nlevels for place in range(len(headers))]
            blocks += [
                *[markdown_text(heading)] * bool(heading),
                markdown_rows(headers, rows, numeric).rstrip(),
            ]
        return "\n\n".join([*blocks, *self.notes]) + "\n"

    def _parts(self) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield the header of each value with its columns; without columns all values are one part."""
        if self.texts.columns.nlevels == 1:
            yield "", self.texts
            return
        for header in self.texts.columns.unique(level=0):
            yield str(header), pd.DataFrame(self.texts[header])

    def _csv(self) -> str:
        headers, rows = flat(self.numbers)
        return full_csv(pd.DataFrame(rows, columns=list(map(spreadsheet_text, headers))))


def asked_table(
    frame: pd.DataFrame,
    asked: str,
    values: Sequence[str] = (),
    where: str | None = None,
    names: Mapping[str, str] = MappingProxyType({}),
) -> AskedTable:
    """Return the table `ROWS by COLUMNS` of a prepared frame's rows that a condition leaves.

    `names` are what variants and series are called in it.
    """
    rows, columns = _names(asked)
    for name in (*rows, *columns):
        if name not in frame:
            raise InputError(f"--table: {unknown_name('column', name, map(str, frame.columns))}")
    chosen = frame if where is None else _chosen(frame, where)
    each = [_value(chosen, name) for name in values or ("throughput",)]
    shown = list({value.header: value for value in each}.values())
    _require_one_row_a_cell(chosen, [*rows, *columns])
    if names:
        variants = chosen["variant"].astype(str).replace(dict(names))
        chosen = renamed(chosen, names).assign(variant=variants)
    texts = grid_of(chosen, rows, columns, shown)
    words = [*rows, *(["by", *columns] if columns else []), *(value.name for value in shown)]
    return AskedTable(
        name=re.sub(r"[^\w.]+", "-", "_".join(words)),
        title=printable(summary_title(chosen)),
        texts=texts,
        numbers=grid_of(chosen, rows, columns, shown, as_numbers=True),
        notes=tuple(marks_explained([{"": list(texts.to_numpy(dtype=object).flat)}])),
    )


def _names(asked: str) -> tuple[list[str], list[str]]:
    parts = [
        [name.strip() for name in re.split("[,×]", part)]
        for part in re.split(r"\s+by(?:\s+|$)", asked.strip())
    ]
    names = [name for part in parts for name in part]
    if len(parts) > 2 or not all(names):
        raise InputError(f"--table: found {asked!r}, {FORM}")
    if len(set(names)) < len(names):
        raise InputError(f"--table: found a column twice in {asked!r}, expected each once")
    return parts[0], parts[1] if len(parts) > 1 else []


def _chosen(frame: pd.DataFrame, where: str) -> pd.DataFrame:
    try:
        parse_condition(where, WHERE_NAMES)
        return choose_rows(frame, FigureSettings(where=where))
    except (ValueError, InputError) as error:
        raise InputError(f"--where: {error}") from error
    except NothingToDraw as error:
        raise InputError(f"--where: found no row with {where!r}") from error


def _require_one_row_a_cell(frame: pd.DataFrame, keys: Sequence[str]) -> None:
    """Raise `InputError` that says what tells rows of one cell apart, where a cell has several."""
    cells = numbered(frame, keys)
    counts = np.bincount(cells)
    if counts.max() == 1:
        return
    first = frame.iloc[int((cells == counts.argmax()).argmax())]
    parameters = [str(name) for name in frame.columns if str(name).startswith(PARAMETER_PREFIX)]
    apart: list[str] = []
    for name in ("variant", *PROBLEM_COLUMNS, *parameters, "device", *RUN_COLUMNS):
        if name in frame and name not in keys and several_values(frame, [*keys, *apart], name):
            apart.append(name)
    cell = ", ".join(f"{name} {in_words(first[name])}" for name in keys)
    differ = f"they differ in {', '.join(apart)}: name these, too, or narrow" if apart else "narrow"
    raise InputError(
        f"--table: found {counts.max()} rows for one cell ({printable(cell)}), expected one; "
        f"{differ} them down by --where"
    )


def _value(frame: pd.DataFrame, name: str) -> Value:
    time, rate = units_of(frame)
    units: dict[str, tuple[str, str, Unit]] = {
        "throughput": ("throughput", "tflops", rate),
        "gflops": ("throughput", "tflops", GFLOPS),
        "tflops": ("throughput", "tflops", TFLOPS),
        "time": ("time", "time_s", time),
        "time_s": ("time", "time_s", SECONDS),
        "time_ms": ("time", "time_s", MILLISECONDS),
        "time_us": ("time", "time_s", MICROSECONDS),
    }
    if name in units:
        return _of_time(name, *units[name])
    numeric = [str(column) for column in frame if is_of_numbers(frame[column])]
    columns = {
        column.source: column for column in measured_columns(frame) if column.is_number and not column.end
    }
    source = {"error": "error_ratio"}.get(name, name)
    if source not in numeric:
        if source in frame:
            raise InputError(f"--values: {name} is a column of words, expected one of numbers")
        raise InputError(f"--values: {unknown_name('value', name, [*units, 'error', *numeric])}")
    column = columns.get(source, Column(_with_unit(source), source, significant))

    def text(row: Row) -> str:
        if not is_number(row[source]):
            return outcome(row)
        return UNCLEAR * (source == "speedup" and has_unclear_speedup(row)) + column.cell(dict(row))

    return Value(name, column.header.replace("\n", " "), text, lambda row: row[source])


def _of_time(name: str, word: str, source: str, unit: Unit) -> Value:
    """Return a value that follows from the time, with the marks of times to be taken with care."""

    def text(row: Row) -> str:
        number = row[source]
        return scaled(number, unit.factor) + marks_of(row) if is_number(number) else outcome(row)

    def number(row: Row) -> Any:
        return row[source] * unit.factor if is_number(row[source]) else None

    return Value(name, f"{word} ({unit.symbol})", text, number)


def _with_unit(column: str) -> str:
    for suffix, symbol in SUFFIXES.items():
        if column.endswith(suffix):
            return f"{column.removesuffix(suffix).replace('_', ' ')} ({symbol})"
    return column.replace("_", " ")

"""The figures of a report: which are drawn, with what settings, and what becomes of one that fails."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import plugins
from harness.experiment.figure_settings import parse_settings
from harness.reporting.captions import figure_caption
from harness.reporting.figures.base import (
    FORMATS,
    Figure,
    FigureSettings,
    NothingTimed,
    NothingToDraw,
    Unreadable,
    absent_variants,
    check_names,
    save,
)
from harness.reporting.figures.embedding import read_embedded
from harness.reporting.figures.origin import origin_of
from harness.reporting.latex import plot_data
from harness.reporting.runs import Runs
from harness.system.errors import HarnessError, InputError, message_of, one_line
from harness.system.storage.replacing import write_text
from harness.system.validation import unknown_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

DATA = "dat"
"""Ending of the table of a figure's numbers."""
PUBLISHED = "published"
"""The setting of figures that can overlay published points."""


@dataclass
class Drawn:
    """What became of the figures of a report."""

    files: dict[str, tuple[Path, ...]] = field(default_factory=dict)
    """Files of each figure that was drawn, one per format."""
    captions: dict[str, str] = field(default_factory=dict)
    """What stands below each of them."""
    skipped: dict[str, str] = field(default_factory=dict)
    """The others, and why."""
    notes: list[str] = field(default_factory=list)
    """What a person who asked for a figure should know, a line each."""


def draw_figures(
    runs: Runs,
    wanted: Mapping[str, Mapping[str, Any]],
    folder: Path,
    formats: Sequence[str],
    *,
    published: bool = False,
) -> Drawn:
    """Draw figures with these settings, or all usual ones that apply where none is wanted.

    With `published`, those that can do it overlay what others published.
    Whatever is wrong with one, in its settings or while it is drawn, is a line; the others are drawn.
    """
    drawn = Drawn()
    untimed = []
    for name, values in (wanted or {name: {} for name in plugins.names("figure")}).items():
        try:
            sketch = _sketch(runs, name, values, is_wanted=bool(wanted), published=published)
            if sketch is not None:
                _save(runs, sketch, folder, formats, drawn)
        except OSError:
            raise
        except Exception as error:  # a plugin's, or matplotlib's; no figure may cost the report
            reason = one_line(error)
            if isinstance(error, HarnessError):
                reason = message_of(error).replace("\n", "; ")
            drawn.skipped[name] = reason
            if isinstance(error, NothingTimed):
                untimed += [name] * (name in wanted)
            elif name in wanted or isinstance(error, Unreadable) or not isinstance(error, NothingToDraw):
                drawn.notes.append(f"figure {name} not drawn: {reason}")
    if untimed:
        drawn.notes.append(f"no case was timed, so these figures are not drawn: {', '.join(untimed)}")
    return drawn


def remove_outdated(folder: Path, written: Iterable[Path], rows_since_ns: int) -> list[str]:
    """Remove files of figures that are not `written` now and older than rows; return a line for each figure.

    They are figures that were once asked for by name.  A file that says nothing of its origin is none.
    """
    files = [path for ending in (*FORMATS, DATA) for path in folder.glob(f"*.{ending}")]
    outdated = [
        path
        for path in sorted(set(files).difference(written))
        if path.is_file() and path.stat().st_mtime_ns < rows_since_ns and read_embedded(path) is not None
    ]
    for path in outdated:
        path.unlink()
    return [
        f"figure {name}: the files of an earlier report are removed: --figure {name} draws it again"
        for name in dict.fromkeys(path.stem for path in outdated)
    ]


@dataclass(frozen=True)
class _Sketch:
    """A figure that is drawn and not yet in a file."""

    name: str
    drawing: Drawing
    caption: str
    chosen: Mapping[str, Any]
    """The settings that somebody has given."""
    rows: pd.DataFrame
    numbers: pd.DataFrame | None
    """The table of its numbers, where it has one."""
    data_columns: Sequence[str]
    notes: Sequence[str]


def _sketch(
    runs: Runs, name: str, values: Mapping[str, Any], *, is_wanted: bool, published: bool
) -> _Sketch | None:
    """Draw a figure, or return None for one that is drawn only where somebody wants it.

    An `OSError` of a figure's own code is none of the report's.
    """
    figure: Figure = plugins.load("figure", name)
    if not is_wanted and not figure.is_usual:
        return None
    overlaid = {PUBLISHED: True} if published and PUBLISHED in figure.settings.model_fields else {}
    chosen = {**values, **overlaid}
    settings = parse_settings(figure, chosen)
    frame = runs.frame.copy  # a plugin may change what it gets
    try:
        rows = figure.rows(frame(deep=False), settings)
        check_names(rows, settings, name)
        facts = figure_caption(
            rows,
            runs.manifests,
            shows_times=figure.shows_times,
            shows_rates=figure.is_of_rates(settings),
            says_lengths=not figure.has_axis_of_lengths,
        )
        caption = f"{figure.reading(settings)} {facts}".strip()
        drawing = figure.draw(frame(deep=False), settings, caption)
        numbers = figure.numbers(frame(deep=False), settings) if figure.data_columns else None
        notes = list(figure.notes(frame(deep=False), settings))
    except OSError as error:
        raise HarnessError(one_line(error)) from error
    absent = absent_variants(runs.frame, settings)
    notes += [f"no row of {', '.join(absent)} in these results"] if absent else []
    return _Sketch(name, drawing, caption, chosen, rows, numbers, figure.data_columns, notes)


def _save(runs: Runs, sketch: _Sketch, folder: Path, formats: Sequence[str], drawn: Drawn) -> None:
    """Write a figure's files, and note them and what is to be known of it."""
    origin = origin_of(runs, sketch.name, sketch.chosen, sketch.rows).model_dump_json(exclude_none=True)
    drawn.files[sketch.name] = save(sketch.drawing, folder / sketch.name, formats, origin)
    if sketch.numbers is not None:
        lines = plot_data(sketch.numbers, sketch.data_columns, origin)
        write_text(folder / f"{sketch.name}.{DATA}", "".join(f"{line}\n" for line in lines))
    drawn.captions[sketch.name] = sketch.caption
    drawn.notes += [f"figure {sketch.name}: {note}" for note in sketch.notes]


def require_overlay(figures: Iterable[str]) -> None:
    """Raise `InputError` for a figure that cannot overlay published points."""
    for name in figures:
        if PUBLISHED not in plugins.load("figure", name).settings.model_fields:
            raise InputError(f"--published: found --figure {name}, expected a figure of rates: throughput")


def check_wanted(runs: Runs, wanted: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise `InputError` for figures and settings that somebody asks for now and that cannot be."""
    series_names = dict.fromkeys(
        [*runs.variants, *map(str, runs.frame["variant"].unique()), *runs.frame["label"].cat.categories]
    )
    for name, values in wanted.items():
        figure = plugins.load("figure", name)
        settings = parse_settings(figure, values, list(series_names))
        if not settings.names:
            continue
        try:
            rows = figure.rows(runs.frame.copy(deep=False), settings)
        except Exception:  # drawing will say it
            continue
        check_names(rows, settings, name)


def with_assignments(kept: Mapping[str, Any], assignments: Sequence[str], figure: Figure) -> dict[str, Any]:
    """Return an experiment's settings of a figure as `KEY=VALUE` texts change them.

    Values are as TOML spells them, or plain words: `style=bars`, `size=[7, 3]`, `names.flash=ours`; a list of
    words needs no brackets, `panels=head_dim,mask`.  `KEY=` without a value takes a setting back.  Raises
    `InputError` for a text of another form.
    """
    settings = dict(kept)
    tables: dict[str, dict[str, str]] = {}
    for text in assignments:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not (equals and key):
            raise InputError(f"--set {text!r}: expected KEY=VALUE, such as style=bars")
        name, dot, entry = key.partition(".")
        if dot:
            settings[name] = tables.setdefault(name, {})
            tables[name][entry] = value
        elif value:
            settings[name] = _value(name, value, is_list=name in _lists(figure.settings))
        elif name in figure.settings.model_fields:
            settings.pop(name, None)
        else:
            raise InputError(
                f"--set {name}=: {unknown_name('setting', name, list(figure.settings.model_fields))}"
            )
    return settings


def _value(name: str, text: str, is_list: bool) -> Any:
    """Return what a text means: TOML where it is that, else words."""
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = [word.strip() for word in text.split(",")] if is_list else text
    return [value] if is_list and not isinstance(value, list) else value


def _lists(settings: type[FigureSettings]) -> list[str]:
    """Return the names of the settings that take a list."""
    return [name for name, field in settings.model_fields.items() if "tuple[" in str(field.annotation)]

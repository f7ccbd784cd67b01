"""The figures of a report: which are drawn, with what settings, and what becomes of one that fails."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import plugins
from harness.experiment.figure_settings import parse_settings
from harness.reporting.captions import figure_caption
from harness.reporting.figures.base import Figure, NothingToDraw, Unreadable, file_content
from harness.reporting.figures.origin import origin_of
from harness.reporting.figures.own_axes import drawn_on
from harness.reporting.frames import renamed
from harness.reporting.latex import plot_data
from harness.reporting.runs import Runs
from harness.system.errors import HarnessError, InputError, Mistakes, message_of, one_line
from harness.system.storage.replacing import replaced
from harness.system.validation import unknown_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

DATA = "dat"
"""Ending of the table of a figure's numbers."""
QUOTED = re.compile(r'\s*(\w+)\."([^"]+)"\s*=\s*(.*?)\s*')
"""An entry of a table whose key has signs of its own, `names."naive tile_kv=64"=ours`."""


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
    overlaid: Mapping[str, Any] | None = None,
    has_others: bool = False,
) -> Drawn:
    """Draw figures with these settings, or all usual ones that apply where none is wanted.

    Those that overlay what others published take these settings of it, too: `{"published": True}`.  With
    `has_others`, usual ones take the place of wanted ones that all need times, where no case was timed.
    Whatever is wrong with one, in its settings or while it is drawn, is a line; the others are drawn.
    """
    drawn = Drawn()
    draw = partial(_draw_into, drawn, runs, folder, formats, overlaid=overlaid or {})
    for name, values in wanted.items():
        draw(name, values, is_wanted=True)
    is_timed = bool(runs.frame["time_s"].notna().any())
    if not wanted or (has_others and not is_timed and not drawn.files):
        for name in plugins.names("figure"):
            if name not in wanted:
                draw(name, {}, is_wanted=False)
        if wanted and drawn.files:
            drawn.notes.append(f"no case was timed: drawn instead are {', '.join(drawn.files)}")
    return drawn


def _draw_into(
    drawn: Drawn,
    runs: Runs,
    folder: Path,
    formats: Sequence[str],
    name: str,
    values: Mapping[str, Any],
    *,
    overlaid: Mapping[str, Any],
    is_wanted: bool,
) -> None:
    """Draw a figure and note what becomes of it; one that nobody wants only where it is usual."""
    try:
        figure: Figure = plugins.load("figure", name)
        is_timed = bool(runs.frame["time_s"].notna().any())
        if not (is_wanted or figure.is_usual or (figure.is_usual_without_times and not is_timed)):
            return
        fields = figure.settings.model_fields
        taken = {key: value for key, value in overlaid.items() if key in fields}
        settings = {**values, **taken}
        caption, contents = _draw(runs, figure, settings, formats)
        sentences, remarks = figure.published(runs.frame.copy(deep=False), parse_settings(figure, settings))
    except Exception as error:  # a plugin's, or matplotlib's; no figure may cost the report
        reason = one_line(error)
        if isinstance(error, HarnessError):
            reason = message_of(error).replace("\n", "; ")
        drawn.skipped[name] = reason
        if is_wanted or isinstance(error, Unreadable) or not isinstance(error, NothingToDraw):
            drawn.notes.append(f"figure {name} not drawn: {reason}")
        return
    for ending, content in contents.items():
        with replaced(folder / f"{name}.{ending}") as file:
            file.write_bytes(content)
    drawn.files[name] = tuple(folder / f"{name}.{ending}" for ending in formats)
    drawn.captions[name] = " ".join([caption, *sentences])
    if taken or not runs.manifests:
        drawn.notes += [f"figure {name}: {remark}" for remark in remarks]


def _draw(
    runs: Runs, figure: Figure, values: Mapping[str, Any], formats: Sequence[str]
) -> tuple[str, dict[str, bytes]]:
    settings = parse_settings(figure, values)
    frame = runs.frame.copy  # a plugin may change what it gets
    rows = figure.rows(frame(deep=False), settings)
    caption = _caption(runs, figure, settings, rows)
    drawing = figure.draw(frame(deep=False), settings, caption)
    origin = origin_of(runs, figure.name, values, rows).model_dump_json(exclude_none=True)
    contents = {ending: file_content(drawing, ending, origin) for ending in formats}
    if figure.data_columns:
        numbers = renamed(figure.numbers(frame(deep=False), settings), settings.names)
        lines = plot_data(numbers, figure.data_columns, origin)
        contents[DATA] = "".join(f"{line}\n" for line in lines).encode()
    return caption, contents


def draw_on(runs: Runs, name: str, values: Mapping[str, Any], axes: Sequence[Axes] = ()) -> Drawing:
    """Draw a figure of runs on axes of a reader's own, one for each panel, or as a drawing with a caption."""
    figure: Figure = plugins.load("figure", name)
    check_wanted(runs, {name: values})
    settings, frame = parse_settings(figure, values), runs.frame.copy
    if axes:
        with drawn_on(axes):
            return figure.draw(frame(deep=False), settings, "")
    rows = figure.rows(frame(deep=False), settings)
    return figure.draw(frame(deep=False), settings, _caption(runs, figure, settings, rows))


def _caption(runs: Runs, figure: Figure, settings: Any, rows: pd.DataFrame) -> str:
    facts = figure_caption(
        rows,
        runs.manifests,
        shows_times=figure.shows_times and bool(runs.manifests),
        shows_rates=figure.shows_rates and bool(runs.manifests),
        says_lengths=not figure.has_axis_of_lengths,
    )
    return f"{figure.reading(settings)} {facts}".strip()


def check_wanted(runs: Runs, wanted: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise `InputError` for figures and settings that somebody asks for now and that cannot be."""
    series = {*runs.variants, *map(str, runs.frame["variant"].unique()), *runs.frame["label"].cat.categories}
    for name, values in wanted.items():
        parse_settings(plugins.load("figure", name), values, series)


def with_assignments(kept: Mapping[str, Any], assignments: Sequence[str], figure: Figure) -> dict[str, Any]:
    """Return an experiment's settings of a figure as `KEY=VALUE` texts change them.

    Values are as TOML spells them, or plain words: `style=bars`, `size=[7, 3]`, `names.flash=ours`; a list of
    words needs no brackets, `panels=head_dim,mask`.  `KEY=` without a value takes a setting back, or an entry
    of a table, whose other entries stay.  Raises `InputError` for a text of another form.
    """
    settings, mistakes = dict(kept), Mistakes()
    for text in assignments:
        with mistakes.gathered():
            _assign(settings, text, figure)
    if mistakes.lines:
        with mistakes.gathered():
            parse_settings(figure, settings)
    mistakes.require_none()
    return settings


def _assign(settings: dict[str, Any], text: str, figure: Figure) -> None:
    """Change settings of a figure as a text says; raises `InputError` for a text of another form."""
    fields = figure.settings.model_fields
    entry_of_series = QUOTED.fullmatch(text)
    key, equals, value = (part.strip() for part in text.partition("="))
    if not (equals and key):
        raise InputError(f"--set {text!r}: expected KEY=VALUE, such as style=bars")
    name, dot, entry = key.partition(".")
    if entry_of_series:
        name, entry, value = entry_of_series.groups()
    if name not in fields:
        raise InputError(f"--set {name}=: {unknown_name('setting', name, list(fields))}")
    if dot:
        table = settings.get(name)
        others = {word: of for word, of in table.items() if word != entry} if isinstance(table, dict) else {}
        settings[name] = others | ({entry: value} if value else {})
    elif value:
        settings[name] = _value(name, value, str(fields[name].annotation))
    else:
        settings.pop(name, None)


def _value(name: str, text: str, kind: str) -> Any:
    """Return what a text means for a setting of this type: TOML where it is that, else words."""
    is_list, is_text = "tuple[" in kind, kind.startswith("str |")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
        if is_list and ("," in text or not is_text):
            value = [word.strip() for word in text.split(",")]
    return [value] if is_list and not is_text and not isinstance(value, list | dict) else value

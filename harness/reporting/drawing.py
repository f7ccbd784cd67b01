"""The figures of a report: which are drawn, with what settings, and what becomes of one that fails."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness import plugins
from harness.errors import PLUGIN_FAILURES, HarnessError, InputError, one_line
from harness.experiment.figure_settings import parse_settings
from harness.reporting.captions import figure_caption
from harness.reporting.figures.base import (
    Figure,
    FigureSettings,
    NothingTimed,
    NothingToDraw,
    Unreadable,
    absent_variants,
    check_names,
    draw_figure,
    save,
)
from harness.reporting.figures.origin import origin_of
from harness.reporting.latex import plot_data
from harness.reporting.runs import Runs
from harness.storage.replacing import write_text
from harness.storage.toml_text import UnreadableTomlError, parse_toml
from harness.validation import shown

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
            figure: Figure = plugins.load("figure", name)
            if not wanted and not figure.is_usual:
                continue
            overlaid = {PUBLISHED: True} if published and PUBLISHED in figure.settings.model_fields else {}
            chosen = {**values, **overlaid}
            settings = parse_settings(figure, chosen)
            rows = figure.rows(runs.frame, settings)
            check_names(rows, settings, name)
            is_of_rates = figure.is_of_rates(settings)
            facts = figure_caption(
                rows, runs.manifests, runs.labels, names=runs.names, shows_rates=is_of_rates
            )
            caption = f"{figure.reading(settings)} {facts}".strip()
            drawing = draw_figure(figure, runs.frame, settings, caption)
            origin = origin_of(runs, name, chosen, rows).text()
            drawn.files[name] = save(drawing, folder / name, formats, origin)
            if figure.data_columns:
                lines = plot_data(figure.numbers(runs.frame, settings), figure.data_columns, origin)
                write_text(folder / f"{name}.dat", "".join(f"{line}\n" for line in lines))
            drawn.captions[name] = caption
            drawn.notes += [f"figure {name}: {line}" for line in figure.notes(runs.frame, settings)]
        except OSError:
            raise
        except PLUGIN_FAILURES as error:  # a plugin's, or matplotlib's; no figure may cost the report
            reason = str(error).replace("\n", "; ") if isinstance(error, HarnessError) else one_line(error)
            drawn.skipped[name] = reason
            if isinstance(error, NothingTimed):
                untimed += [name] * (name in wanted)
            elif name in wanted or isinstance(error, Unreadable) or not isinstance(error, NothingToDraw):
                drawn.notes.append(f"figure {name} not drawn: {reason}")
            continue
        absent = absent_variants(runs.frame, settings)
        if absent:
            drawn.notes.append(f"figure {name}: no row of {', '.join(absent)} in these results")
    if untimed:
        drawn.notes.append(f"no case was timed, so these figures are not drawn: {', '.join(untimed)}")
    return drawn


def require_overlay(figures: Iterable[str]) -> None:
    """Raise `InputError` for a figure that cannot overlay published points."""
    for name in figures:
        if PUBLISHED not in plugins.load("figure", name).settings.model_fields:
            raise InputError(f"--published: found --figure {name}, expected a figure of rates: throughput")


def check_wanted(runs: Runs, wanted: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise `InputError` for figures and settings that somebody asks for now and that cannot be."""
    known = dict.fromkeys(
        [*runs.variants, *map(str, runs.frame["variant"].unique()), *runs.frame["label"].cat.categories]
    )
    for name, values in wanted.items():
        figure = plugins.load("figure", name)
        settings = parse_settings(figure, values, list(known))
        if not settings.names:
            continue
        try:
            rows = figure.rows(runs.frame, settings)
        except PLUGIN_FAILURES:  # drawing will say it
            continue
        check_names(rows, settings, name)


def parse_assignments(assignments: Iterable[str], figure: Figure) -> dict[str, Any]:
    """Return the settings that `KEY=VALUE` texts give: values as TOML spells them, or plain words.

    `style=bars`, `size=[7, 3]`, `caption=false`, `names.flash=ours`; a list of words needs no brackets,
    `panels=head_dim,mask`.  Raises `InputError` for a text of another form.
    """
    settings: dict[str, Any] = {}
    for text in assignments:
        key, equals, value = text.partition("=")
        key = key.strip()
        if not (equals and key):
            raise InputError(f"--set {text!r}: expected KEY=VALUE, such as style=bars")
        name, dot, entry = key.partition(".")
        try:
            given = value.strip() if dot else _value(value.strip(), is_list=name in _lists(figure.settings))
        except UnreadableTomlError as error:
            raise InputError(f"--set {name}: {error}") from error
        if not dot:
            settings[name] = given
            continue
        table = settings.setdefault(name, {})
        if not isinstance(table, dict):
            raise InputError(
                f"--set {key}: {name} is set before, to {shown(table)}; expected only one of both"
            )
        table[entry] = given
    return settings


def _value(text: str, is_list: bool) -> Any:
    """Return what a text means: TOML where it is that, else words."""
    try:
        value = parse_toml(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = [word.strip() for word in text.split(",")] if is_list else text
    return [value] if is_list and not isinstance(value, list) else value


def _lists(settings: type[FigureSettings]) -> list[str]:
    """Return the names of the settings that take a list."""
    return [name for name, field in settings.model_fields.items() if "tuple[" in str(field.annotation)]

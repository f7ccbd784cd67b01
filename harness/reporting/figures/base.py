"""What a figure is: a named way to draw a results frame, found through the entry points `harness.figures`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator

from harness.experiment.condition import holds, names_in, parse_condition
from harness.problem.fields import problem_fields
from harness.reporting.distinct import first_rows, numbered
from harness.reporting.figures.embedding import metadata
from harness.reporting.figures.style import COLUMN_WIDTH, WIDTHS, paper_style
from harness.reporting.frames import PROBLEM_COLUMNS, is_missing, labels_in, records, select_variants
from harness.system.errors import HarnessError, InputError
from harness.system.plurals import counted
from harness.system.storage.replacing import replaced
from harness.system.validation import shown

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

FORMATS = ("png", "svg", "pdf")
USUAL_FORMATS = ("svg",)
"""What is written unless somebody asks for others, each of which takes its time."""
PNG_DOTS_PER_INCH = 200
WHERE_NAMES = ("seq", "causal", *PROBLEM_COLUMNS)
"""What a figure's condition `where` may ask of a row; `seq` is the longer of `seq_q` and `seq_kv`."""
MOST_INCHES = 100
Inches = Annotated[float, Field(ge=1, le=MOST_INCHES)]


def _column_of_problems(name: str) -> str:
    if name not in ("causal", *PROBLEM_COLUMNS):
        raise ValueError(f"found {shown(name)}, expected one of causal, {', '.join(PROBLEM_COLUMNS)}")
    return name


PanelColumn = Annotated[str, AfterValidator(_column_of_problems)]


class NothingToDraw(HarnessError):  # noqa: N818 - an outcome, not an error
    """A figure does not apply to these results; the message is the reason."""


class NothingTimed(NothingToDraw):
    """A figure is of times, and none of these results has one."""


class Unreadable(NothingToDraw):
    """A figure would hold more than anybody can read; the message says what to narrow down."""


class FigureSettings(BaseModel):
    """What every figure can be told under `[figures]`; subclasses add their own keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str | None = None
    variants: tuple[str, ...] | None = Field(default=None, min_length=1)
    """Variants, or series such as `naive tile_kv=64`, to show; all if not given."""
    where: str | None = None
    """Condition on the rows to show, `seq <= 4096 and head_dim == 64`."""
    names: dict[str, str] = {}
    """What variants, or series, are called in the figure."""
    size: tuple[Inches, Inches] | None = None
    """Width and height in inches."""
    width: Literal["page", "column"] = "page"
    """A two-column paper's whole width or one column's; `size` wins."""
    font: Literal["sans", "serif"] = "sans"
    caption: bool = True
    """Whether machine, problem, code and date stand below the panels."""

    @field_validator("where")
    @classmethod
    def _readable(cls, text: str | None) -> str | None:
        if text is not None:
            parse_condition(text, WHERE_NAMES)
        return text

    @property
    def named_variants(self) -> dict[str, tuple[str, ...]]:
        """The variants, or series, that each key of the settings names."""
        return {"variants": self.variants or (), "names": tuple(self.names)}

    @property
    def inches(self) -> float:
        """The figure's width."""
        return self.size[0] if self.size else WIDTHS[self.width]

    @property
    def panels_beside(self) -> int:
        """How many panels stand side by side."""
        return 2 if self.inches > COLUMN_WIDTH + 1 else 1

    def display(self, label: str) -> str:
        """Return what a series is called: its name, or its variant's with the series' parameters."""
        key = self.named_by(label)
        return label if key is None else f"{self.names[key]}{label.removeprefix(key)}"

    def named_by(self, label: str) -> str | None:
        """Return the key of `names` that a series has its name from: itself or its variant; None for none."""
        return next((key for key in (label, label.partition(" ")[0]) if key in self.names), None)


class Figure(ABC):
    """A named figure; stateless.

    Importing a figure's module must stay cheap (an experiment is validated with its settings), hence
    pandas and matplotlib are imported inside the methods.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    """One line for `harness list figures`."""
    settings: ClassVar[type[FigureSettings]] = FigureSettings
    shows_times: ClassVar[bool] = True
    """Whether it shows times, or what follows from them, so that its caption says how they were measured."""
    shows_rates: ClassVar[bool] = True
    """Whether it can show FLOP/s or shares of a peak, see `is_of_rates`."""
    has_axis_of_lengths: ClassVar[bool] = True
    """Whether lengths stand along an axis or in headings; else its caption says them."""
    data_columns: ClassVar[tuple[str, ...]] = ()
    """Columns of `numbers` that are in the table of its numbers; one that ends in a dot stands for all that
    begin with it.  Without any there is no such table."""
    is_usual: ClassVar[bool] = True
    """Whether it is drawn where an experiment names no figure; others only where somebody asks for them."""
    reads: ClassVar[str] = ""
    """How its numbers are read, see `reading`."""

    def reading(self, settings: Any) -> str:
        """Return how its numbers are read, which a caption says first: `Throughput: higher is better.`"""
        return self.reads

    def is_of_rates(self, settings: Any) -> bool:
        """Whether it shows FLOP/s or shares of a peak, so that its caption says what FLOPs and peak are."""
        return self.shows_rates

    def rows(self, frame: pd.DataFrame, settings: Any) -> pd.DataFrame:
        """Return the rows of a prepared frame that it draws: caption and `harness explain` are of these.

        By default those that the settings' `variants` and `where` leave; a figure that has no place for some
        of them leaves them out here.  Raises `NothingToDraw` where there are none.
        """
        return choose_rows(frame, settings)

    def numbers(self, frame: pd.DataFrame, settings: Any) -> pd.DataFrame:
        """Return the rows and values that it draws, in base units: the table of its numbers.

        By default they are those of `rows`; a figure that computes values says so here.
        """
        return self.rows(frame, settings)

    @abstractmethod
    def draw(self, frame: pd.DataFrame, settings: Any, caption: str) -> Drawing:
        """Draw a frame that `harness.reporting.frames.prepare` has prepared.

        `settings` is an instance of the class's `settings`; `caption` goes below the panels, unless the
        settings leave it out.  Raises `NothingToDraw` with the reason when no row suits, `Unreadable` when
        nobody could read the figure, and `InputError` when settings name what the frame does not hold.
        """

    def notes(self, frame: pd.DataFrame, settings: Any) -> list[str]:
        """Return what a person who asked for the figure should know and cannot see in it, a line each."""
        return []


def choose_rows(frame: pd.DataFrame, settings: FigureSettings) -> pd.DataFrame:
    """Return the rows that the settings' `variants` and `where` leave.

    Raises `NothingToDraw` where they leave none.
    """
    chosen = select_variants(frame, settings.variants)
    if settings.where is not None:
        chosen = _where(chosen, settings.where)
    if chosen.empty and not frame.empty:
        raise NothingToDraw("no row has what variants and where ask for")
    return chosen


def not_shown(reason: str, chosen: pd.DataFrame, drawn: pd.DataFrame, settings: FigureSettings) -> list[str]:
    """Return a sentence on the rows that are chosen and not drawn, with their series; none where all are.

    `reason` begins it: `Without a build time`.
    """
    others = chosen[~chosen.index.isin(drawn.index)]
    if others.empty:
        return []
    names = ", ".join(settings.display(label) for label in labels_in(others))
    return [f"{reason}, so not shown: {len(others)} of {counted(len(chosen), 'case')} ({names})."]


def require_times(frame: pd.DataFrame) -> None:
    """Raise `NothingTimed` where no row of a frame has a time."""
    if not frame["time_s"].notna().any():
        raise NothingTimed("no case was timed")


def check_names(rows: pd.DataFrame, settings: FigureSettings, figure: str) -> None:
    """Raise `InputError` where the settings' `names` call two series of a figure's rows the same."""
    series: dict[str, str] = {}
    for label in labels_in(rows):
        name = settings.display(label)
        other = series.setdefault(name, label)
        if other != label:
            key = settings.named_by(label) or settings.named_by(other)
            raise InputError(
                f"figures.{figure}.names.{key}: found {shown(name)}, which both {other} and {label} would be "
                "called, expected a name of its own"
            )


def absent_variants(frame: pd.DataFrame, settings: FigureSettings) -> list[str]:
    """Return the variants and series that the settings want to show and no row is of."""
    present = {*frame["variant"].unique(), *frame["label"].cat.categories}
    return [wanted for wanted in settings.variants or () if wanted not in present]


def _where(frame: pd.DataFrame, text: str) -> pd.DataFrame:
    """Return the rows for which a condition holds; evaluated once for each set of values asked for."""
    import numpy as np

    condition = parse_condition(text, WHERE_NAMES)
    columns = sorted(names_in(condition)) or ["seq"]
    numbers = numbered(frame, columns)
    rows = records(frame[columns].iloc[first_rows(numbers)])
    try:
        chosen = [holds(condition, _problem_values(row)) for row in rows]
    except ValueError as error:
        raise InputError(f"where: {error}") from error
    return frame[np.array(chosen, dtype=bool)[numbers]]


def _problem_values(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a condition may ask of a row, as `[problem]` spells it; `mask` is what a table shows."""
    fields = problem_fields()
    values = {name: None if is_missing(value) else value for name, value in row.items()}
    return {
        name: value if name not in fields or name == "mask" else fields[name].from_column(value)
        for name, value in values.items()
    }


def check_formats(formats: Sequence[str]) -> None:
    """Raise `InputError` unless all formats are known and there is at least one."""
    unknown = [repr(name) for name in formats if name not in FORMATS]
    if unknown or not formats:
        expected = ", ".join(FORMATS)
        raise InputError(f"figure format: found {next(iter(unknown), 'none')}, expected one of {expected}")


def save(
    drawing: Drawing, stem: Path, formats: Sequence[str] = USUAL_FORMATS, origin: str = ""
) -> tuple[Path, ...]:
    """Write a drawing as `stem.svg`, `stem.pdf` … and return the files.

    Each file holds the text `origin`, see `harness.reporting.figures.embedding`.
    """
    import matplotlib

    check_formats(formats)
    paths = tuple(stem.with_name(f"{stem.name}.{name}") for name in formats)
    with paper_style(), matplotlib.rc_context({"pdf.fonttype": 42, "svg.hashsalt": "harness"}):
        for name, path in zip(formats, paths, strict=True):
            with replaced(path) as file:
                drawing.savefig(file, format=name, dpi=PNG_DOTS_PER_INCH, metadata=metadata(name, origin))
    return paths

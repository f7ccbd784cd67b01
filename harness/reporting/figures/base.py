"""What a figure is: a named way to draw a results frame, found through the entry points `harness.figures`."""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, field_validator

from harness.experiment.condition import holds, names_in, parse_condition
from harness.problem.fields import problem_fields
from harness.reporting.figures.embedding import metadata
from harness.reporting.figures.style import COLUMN_WIDTH, WIDTHS, paper_style
from harness.reporting.frames import (
    PROBLEM_COLUMNS,
    display_name,
    in_order,
    is_missing,
    records,
    select_variants,
)
from harness.system.errors import HarnessError, InputError
from harness.system.validation import FrozenModel, shown

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

FORMATS = ("png", "svg", "pdf")
USUAL_FORMATS = ("svg",)
"""What is written unless somebody asks for others, each of which takes its time."""
PNG_DOTS_PER_INCH = 200
WHERE_NAMES = ("seq", "causal", *PROBLEM_COLUMNS)
"""What a figure's condition `where` may ask of a row; `seq` is that of both lengths where they are equal."""
Inches = Annotated[float, Field(ge=1, le=100)]


def _column_of_problems(name: str) -> str:
    if name not in ("causal", *PROBLEM_COLUMNS):
        raise ValueError(f"found {shown(name)}, expected one of causal, {', '.join(PROBLEM_COLUMNS)}")
    return name


PanelColumn = Annotated[str, AfterValidator(_column_of_problems)]


class NothingToDraw(HarnessError):  # noqa: N818 - an outcome, not an error
    """A figure does not apply to these results; the message is the reason."""


class Unreadable(NothingToDraw):
    """A figure would hold more than anybody can read; the message says what to narrow down."""


class FigureSettings(FrozenModel):
    """What every figure can be told under `[figures]`; subclasses add their own keys."""

    title: str | None = None
    variants: tuple[str, ...] | None = Field(default=None, min_length=1)
    """Variants, or series such as `naive tile_kv=64`, to show; all if not given."""
    where: str | None = None
    """Condition on the rows to show, `seq <= 4096 and head_dim == 64`."""
    order: tuple[str, ...] = ()
    """Variants, or series, that come first, in this order; the others follow in the experiment's."""
    names: dict[str, str] = Field(default={})
    """What variants, or series, are called in the figure, its numbers, and the tables of a report."""
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
        return {"variants": self.variants or (), "order": self.order, "names": tuple(self.names)}

    @property
    def inches(self) -> float:
        """The figure's width."""
        return self.size[0] if self.size else WIDTHS[self.width]

    @property
    def panels_beside(self) -> int:
        """How many panels stand side by side."""
        return 2 if self.inches > COLUMN_WIDTH + 1 else 1

    def display(self, label: str) -> str:
        """Return what a series is called, see `display_name`."""
        return display_name(label, self.names)


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
    """Whether it shows FLOP/s or shares of a peak, so that its caption says what FLOPs and peak are."""
    has_axis_of_lengths: ClassVar[bool] = True
    """Whether lengths stand along an axis or in headings; else its caption says them."""
    data_columns: ClassVar[tuple[str, ...]] = ()
    """Columns of `numbers` that are in the table of its numbers; one that ends in a dot stands for all that
    begin with it.  Without any there is no such table."""
    is_usual: ClassVar[bool] = True
    """Whether it is drawn where an experiment names no figure; others only where somebody asks for them."""
    is_usual_without_times: ClassVar[bool] = False
    """Whether it is drawn there, too, where no case was timed."""
    reads: ClassVar[str] = ""

    def reading(self, settings: Any) -> str:
        """Return how its numbers are read, which a caption says first: `Throughput: higher is better.`"""
        return self.reads

    def rows(self, frame: pd.DataFrame, settings: Any) -> pd.DataFrame:
        """Return the rows of a prepared frame that it draws: caption and `harness explain` are of these.

        By default those that the settings' `variants` and `where` leave; raises `NothingToDraw` for none.
        """
        return choose_rows(frame, settings)

    def numbers(self, frame: pd.DataFrame, settings: Any) -> pd.DataFrame:
        """Return the rows and values that it draws, in base units, for the table of its numbers."""
        return self.rows(frame, settings)

    def published(self, frame: pd.DataFrame, settings: Any) -> tuple[list[str], list[str]]:
        """Return sentences of a caption on what others published, and lines for a person who asks."""
        return [], []

    @abstractmethod
    def draw(self, frame: pd.DataFrame, settings: Any, caption: str) -> Drawing:
        """Draw a frame that `harness.reporting.frames.prepare` has prepared.

        `settings` is an instance of the class's `settings`; `caption` goes below the panels, unless the
        settings leave it out.  Raises `NothingToDraw` with the reason when no row suits, `Unreadable` when
        nobody could read the figure, and `InputError` when settings name what the frame does not hold.
        """


def choose_rows(frame: pd.DataFrame, settings: FigureSettings) -> pd.DataFrame:
    """Return the rows that the settings' `variants` and `where` leave; raises `NothingToDraw` for none."""
    chosen = select_variants(frame, settings.variants)
    if settings.order:
        chosen = in_order(chosen, settings.order)
    if settings.where is not None:
        chosen = _where(chosen, settings.where)
    if chosen.empty and not frame.empty:
        raise NothingToDraw("no row has what variants and where ask for")
    return chosen


def not_shown(chosen: pd.DataFrame, drawn: pd.DataFrame, settings: FigureSettings) -> list[str]:
    """Return a sentence that names the chosen series that are not drawn; none where all are."""
    others = chosen[~chosen["label"].isin(drawn["label"])]
    statuses = others.groupby("label", observed=True)["status"].unique()
    names = [f"{settings.display(str(label))} ({', '.join(of)})" for label, of in statuses.items()]
    return [f"Without a value, so not shown: {', '.join(names)}."] if names else []


def require_times(frame: pd.DataFrame) -> None:
    """Raise `NothingToDraw` where no row of a frame has a time."""
    if not frame["time_s"].notna().any():
        raise NothingToDraw("no case was timed")


def _where(frame: pd.DataFrame, text: str) -> pd.DataFrame:
    import pandas as pd

    condition = parse_condition(text, WHERE_NAMES)
    columns = sorted(names_in(condition)) or ["seq"]
    try:
        chosen = [holds(condition, _problem_values(row)) for row in records(frame[columns])]
    except ValueError as error:
        raise InputError(f"where: {error}") from error
    return frame[pd.Series(chosen, index=frame.index, dtype=bool)]


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


def file_content(drawing: Drawing, format: str, origin: str) -> bytes:
    """Return a drawing as a file that holds the text `origin`, see `harness.reporting.figures.embedding`."""
    import matplotlib

    content = io.BytesIO()
    with paper_style(), matplotlib.rc_context({"pdf.fonttype": 42, "svg.hashsalt": "harness"}):
        drawing.savefig(content, format=format, dpi=PNG_DOTS_PER_INCH, metadata=metadata(format, origin))
    return content.getvalue()

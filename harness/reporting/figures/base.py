"""What a figure is: a named way to draw a results frame, found through the entry points `harness.figures`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from harness.errors import HarnessError, InputError
from harness.storage.replacing import replaced

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

FORMATS = ("png", "svg", "pdf")
PNG_DOTS_PER_INCH = 200
NO_DATES: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
"""Metadata to leave out, so that equal results give equal files."""

PanelColumn = Literal[
    "head_dim",
    "mask",
    "causal",
    "dtype",
    "target",
    "threads",
    "batch",
    "heads",
    "kv_heads",
    "seq_q",
    "seq_kv",
]


class NothingToDraw(HarnessError):  # noqa: N818 - an outcome, not an error
    """A figure does not apply to these results; the message is the reason."""


class FigureSettings(BaseModel):
    """What every figure can be told under `[figures]`; subclasses add their own keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str | None = None
    variants: tuple[str, ...] | None = Field(default=None, min_length=1)
    """Variants, or series such as `naive tile_kv=64`, to show; all if not given."""


class Figure(ABC):
    """A named figure; stateless.

    Importing a figure's module must stay cheap (an experiment is validated with its settings), hence
    pandas, matplotlib and seaborn are imported inside the methods.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    """One line for `harness list figures`."""
    settings: ClassVar[type[FigureSettings]] = FigureSettings

    @abstractmethod
    def draw(self, frame: pd.DataFrame, settings: Any, caption: str) -> Drawing:
        """Draw a frame that `harness.reporting.frames.prepare` has prepared.

        `settings` is an instance of the class's `settings`; `caption` goes below the panels.  Raises
        `NothingToDraw` with the reason when no row suits, and `InputError` when settings name what
        the frame does not hold.
        """


def check_variants(figure: Figure, settings: FigureSettings, frame: pd.DataFrame) -> None:
    """Raise `InputError` when the settings ask for a variant that no row is of."""
    known = dict.fromkeys([*frame["variant"], *frame["label"]])
    for wanted in settings.variants or ():
        if wanted not in known:
            raise InputError(
                f"figures.{figure.name}.variants: found {wanted!r}, expected one of {', '.join(known)}"
            )


def check_formats(formats: Sequence[str]) -> None:
    """Raise `InputError` unless all formats are known and there is at least one."""
    unknown = [name for name in formats if name not in FORMATS]
    if unknown or not formats:
        found = repr(unknown[0]) if unknown else "none"
        raise InputError(f"figure format: found {found}, expected one of {', '.join(FORMATS)}")


def save(drawing: Drawing, stem: Path, formats: Sequence[str] = FORMATS) -> tuple[Path, ...]:
    """Write a drawing as `stem.png`, `stem.svg` … and return the files; equal drawings give equal bytes."""
    import matplotlib

    check_formats(formats)
    paths = tuple(stem.with_name(f"{stem.name}.{name}") for name in formats)
    with matplotlib.rc_context({"svg.hashsalt": "attention-harness", "pdf.fonttype": 42}):
        for name, path in zip(formats, paths, strict=True):
            with replaced(path) as file:
                drawing.savefig(file, format=name, dpi=PNG_DOTS_PER_INCH, metadata=NO_DATES[name])
    return paths

"""Axes of a reader's own, on which a figure is drawn instead of making a drawing for itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from harness.system.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_AXES: ContextVar[tuple[Axes, ...]] = ContextVar("axes of a reader's own", default=())


@contextmanager
def drawn_on(axes: Sequence[Axes]) -> Iterator[None]:
    """Let figures that are drawn inside the block use these axes, and leave fonts and sizes as they are."""
    token = _AXES.set(tuple(axes))
    try:
        yield
    finally:
        _AXES.reset(token)


def own_axes() -> list[Axes]:
    """Return the axes to draw on; empty where a figure makes its own."""
    return list(_AXES.get())


def label_axes(
    all_axes: Sequence[Axes],
    headings: Sequence[str],
    legend: Mapping[str, Any],
    labels: tuple[str, str],
    scales: Sequence[int],
) -> None:
    """Write headings, labels and a legend as a drawing has them; panels of one number share a scale."""
    if len(all_axes) != len(headings):
        named = "; ".join(filter(None, headings))
        raise InputError(
            f"ax: found {len(all_axes)} axes, expected {len(headings)}, for each panel its own"
            f"{f' ({named})' if named else ''}; where leaves fewer"
        )
    first_of: dict[int, Axes] = {}
    for axes, heading, scale in zip(all_axes, headings, scales, strict=True):
        axes.set_title(heading or axes.get_title())
        axes.set_xlabel(labels[0])
        axes.set_ylabel(labels[1])
        is_alone = len(axes.get_shared_y_axes().get_siblings(axes)) == 1
        first = first_of.setdefault(scale, axes)
        if axes is not first and is_alone:
            axes.sharey(first)
    for name, handle in legend.items():
        handle.set_label(name)
    if legend:
        all_axes[0].legend(handles=list(legend.values()))

"""What a figure's own code may do without that the rest of a report shows it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from harness.errors import HarnessError, one_line

if TYPE_CHECKING:
    import pandas as pd

    from harness.reporting.figures.base import Figure


def frame_for(figure: Figure, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame that a method of a figure is called with: a plugin's has a copy of its own each time.

    So nothing that a plugin does to its rows in place is in the tables and in other figures.  Those of the
    harness change no rows, hence need no copy, which takes time in long runs.
    """
    is_own = type(figure).__module__.partition(".")[0] == __name__.partition(".")[0]
    return frame if is_own else frame.copy()


@contextmanager
def code_of_a_figure() -> Iterator[None]:
    """Run a figure's own code, in which no `OSError` is the report's."""
    try:
        yield
    except OSError as error:
        raise HarnessError(one_line(error)) from error

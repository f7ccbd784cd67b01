"""What is wrong with an output, for whoever looks for the mistake: how many rows, where, one value."""

from collections.abc import Sequence

import numpy as np

PLURALS = {
    "batch": "batches",
    "head": "heads",
    "query": "queries",
    "token": "tokens",
    "column": "columns",
}
MOST_ROWS = 4096
"""Of more wrong rows than this only the first are looked at, column by column."""


def describe_wrong_rows(
    expected: np.ndarray, output: np.ndarray, tolerance: np.ndarray, bad: np.ndarray, axes: Sequence[str]
) -> str:
    """Return `64 of 512 rows: head 1, queries 64–127, columns 0–31; first: column 3, expected 0.5, found 0`.

    Of `bad`, the numbers of the rows outside their tolerance, there is at least one; `axes` are the names of
    the tolerance's axes.
    """
    width = expected.shape[-1]
    rows = bad[:MOST_ROWS]
    wanted = np.asarray(expected).reshape(-1, width)[rows]
    with np.errstate(invalid="ignore"):  # the processor raises the flag for signalling NaN
        values = output.reshape(-1, width)[rows].astype(np.float64)
        errors = np.abs(values - wanted)
    errors[np.isnan(errors)] = np.inf
    wrong = errors > tolerance.reshape(-1)[rows, None]
    places = np.unravel_index(bad, tolerance.shape)
    parts = [
        describe_places(np.unique(indices), size, name)
        for indices, size, name in zip(places, tolerance.shape, axes, strict=True)
        if size > 1
    ]
    parts.append(describe_places(np.flatnonzero(wrong.any(axis=0)), width, "column"))
    column = int(np.argmax(errors[0]))
    return (
        f"{len(bad)} of {tolerance.size} rows: {', '.join(parts)}; first: column {column}, "
        f"expected {wanted[0, column]:.6g}, found {values[0, column]:.6g}"
    )


def describe_places(places: np.ndarray, size: int, name: str) -> str:
    """Return which of `size` places along an axis these are: all, one, a range, or how many."""
    names = PLURALS[name]
    if len(places) == size:
        return f"all {names}" if size > 1 else f"{name} 0"
    first, last = int(places[0]), int(places[-1])
    if len(places) == 1:
        return f"{name} {first}"
    steps = np.unique(np.diff(places))
    if len(steps) > 1:
        return f"{len(places)} of {size} {names}, {first} … {last}"
    step = int(steps[0])
    return f"{names} {first}–{last}" if step == 1 else f"{names} {first}, {first + step} … {last}"

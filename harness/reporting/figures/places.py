"""Where rows stand along a horizontal axis: the column of their places, and what the axis is called."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from harness.reporting.distinct import has_one_value
from harness.reporting.figures.base import NothingToDraw

if TYPE_CHECKING:
    import pandas as pd

X_LABELS = {
    "seq": "longer sequence length",
    "seq_q": "query sequence length",
    "seq_kv": "key/value sequence length",
    "head_dim": "head dimension",
    "batch": "batch size",
    "heads": "heads",
    "kv_heads": "key/value heads",
    "threads": "threads",
    "skew": "longest sequence over shortest",
}
SAME_LENGTHS = "sequence length"
"""Label of an axis of lengths where rows have as many queries as keys."""
LENGTHS = ("seq_q", "seq_kv")
PACKED = ("cu_seqlens_q", "cu_seqlens_kv")

FIXED_LENGTH = "seq_q or seq_kv"
"""Column beside `seq`: the length that stays where the other one grows.

That is `seq_q` above 0, or `seq_kv` as a number below 0; 0 is of rows whose lengths grow together.
"""


def along(frame: pd.DataFrame, x: str) -> tuple[pd.DataFrame, str]:
    """Return the rows that have a place along the horizontal axis `x`, and the column that says which.

    `seq` is the longer of `seq_q` and `seq_kv`; where all rows agree in one of both, the other one.  `skew`
    is how many times the longest packed sequence is as long as the shortest one, in queries or in keys,
    whichever is more uneven.  Raises `NothingToDraw` where no row has a place.
    """
    if x == "seq":
        return _along_lengths(frame)
    if x != "skew":
        placed = frame[frame[x].notna()]
        if placed.empty:
            raise NothingToDraw(f"no row has {x}, which this is over")
        return placed, x
    packed = frame[frame["cu_seqlens_q"].notna()]
    if packed.empty:
        raise NothingToDraw("no row is of packed sequences, whose skew this is over")
    return packed.assign(skew=packed[list(PACKED)].map(_skew).max(axis=1)), x


def x_label(frame: pd.DataFrame, x: str) -> str:
    """Return what the horizontal axis of these rows is called."""
    if x in ("seq", "seq_q") and (frame["seq_q"] == frame["seq_kv"]).all():
        return SAME_LENGTHS
    same = [name for name in LENGTHS if x == "seq" and (frame[name] == frame[x]).all()]
    return X_LABELS[same[0] if same else x]


def _along_lengths(frame: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return the rows with the length that stays, and the column of the one that grows."""
    growing = [name for name in LENGTHS if not has_one_value(frame[name])]
    if len(growing) == 1:
        return frame, growing[0]
    return frame.assign(**{FIXED_LENGTH: _fixed_lengths(frame)}), "seq"


def _fixed_lengths(frame: pd.DataFrame) -> pd.Series[int]:
    """Return `FIXED_LENGTH` of each row.

    Those of equal lengths grow together, unless each of them continues the rows of one number of queries, or
    of keys; and so do all rows where more keys come with more queries throughout.
    """
    queries, keys = frame["seq_q"], frame["seq_kv"]
    if (queries == keys).all():
        return queries * 0
    fixed = queries.where(queries < keys, -keys)
    if _grow_together(frame):
        return queries * 0
    is_equal = queries == keys
    lengths = queries[is_equal]
    if lengths.isin(queries[queries < keys]).all():
        return fixed.where(~is_equal, queries)
    return fixed if lengths.isin(keys[keys < queries]).all() else fixed.where(~is_equal, 0)


def _grow_together(frame: pd.DataFrame) -> bool:
    """Whether of any two pairs of lengths that there are, one has more queries and more keys."""
    pairs = frame[list(LENGTHS)].drop_duplicates().sort_values(list(LENGTHS))
    return all(bool((pairs[name].diff().dropna() > 0).all()) for name in LENGTHS)


def _skew(starts: str) -> float:
    """Return the longest length over the shortest, those of empty sequences left out, to two digits."""
    lengths = [end - start for start, end in pairwise(map(int, starts.split(","))) if end > start]
    return round(max(lengths) / min(lengths), 2) if lengths else 1.0

"""Where rows stand along a horizontal axis: the column of their places, and what the axis is called."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from harness.reporting.captions import FIXED_LENGTH, LONGER
from harness.reporting.figures.base import NothingToDraw
from harness.reporting.frames import several_values
from harness.results.result import SEQ

if TYPE_CHECKING:
    import pandas as pd

X_LABELS = {
    "seq_q": "query sequence length",
    "seq_kv": "key/value sequence length",
    "head_dim": "head dimension",
    "batch": "batch size",
    "kv_heads": "key/value heads",
    "skew": "longest sequence over shortest",
    "intensity": "arithmetic intensity (FLOP/byte)",
    "recompute_factor": "executed / ideal FLOPs",
}
SAME_LENGTHS = "sequence length"
"""Label of an axis of lengths where rows have as many queries as keys."""
EITHER_LENGTH = "query or key/value sequence length"
"""Label of an axis of which each panel's own label says more."""
LENGTHS = ("seq_q", "seq_kv")
ALIKE = 4
"""Lengths grow together where keys over queries differ by no more than this factor: decoding is apart."""


def along(frame: pd.DataFrame, x: str) -> tuple[pd.DataFrame, str]:
    """Return the rows that have a place along the horizontal axis `x`, and the column that says which.

    `seq` is the length of queries and keys where both are equal, else the one that grows, see
    `_along_lengths`.  `skew` is how many times the longest packed sequence is as long as the shortest one, in
    queries or in keys, whichever is more uneven.
    Raises `NothingToDraw` where no row has a place.
    """
    if x == "seq":
        return _along_lengths(frame)
    placed = frame[frame["cu_seqlens_q" if x == "skew" else x].notna()]
    if placed.empty:
        raise NothingToDraw(f"no row has {x}, which this is over")
    if x == "skew":
        skews = placed[["cu_seqlens_q", "cu_seqlens_kv"]].map(_skew)
        placed = placed.assign(skew=skews.max(axis="columns"))
    return placed, x


def x_label(frame: pd.DataFrame, x: str) -> str:
    """Return what the horizontal axis of these rows is called."""
    if x in (SEQ, LONGER, *LENGTHS):
        same = [name for name in LENGTHS if (frame[name] == frame[x]).all()]
        x = same[0] if same else x
        return SAME_LENGTHS if len(same) == 2 else X_LABELS.get(x, EITHER_LENGTH)
    return X_LABELS.get(x, x)


def _along_lengths(frame: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return the column of the length that grows: that with the fewest panels of the length that stays.

    It is `LONGER` where panels differ in which one grows, or where rows of equal lengths stand beside others.
    A length of which each value has one of the other makes no panels: it would mix decoding and prefill.
    """
    queries, keys = frame["seq_q"], frame["seq_kv"]
    if (queries == keys).all():
        return frame.assign(**{SEQ: queries}), SEQ
    pairs = frame[list(LENGTHS)].drop_duplicates().sort_values(list(LENGTHS))
    ratios = keys / queries
    if bool((pairs.diff().dropna() > 0).all(axis=None)) and ratios.max() <= ALIKE * ratios.min():
        return frame, "seq_q" if (queries >= keys).all() else "seq_kv"
    of_queries, of_keys = "seq q " + queries.astype(str), "seq kv " + keys.astype(str)
    fixed = of_queries.where(queries < keys, of_keys).where(queries != keys, "seq q = seq kv")
    panels = {
        x: frame[other].nunique()
        for x, other in (("seq_kv", "seq_q"), ("seq_q", "seq_kv"))
        if frame[other].nunique() == 1 or several_values(frame, [x], other)
    } | {LONGER: fixed.nunique()}
    x = min(panels, key=lambda name: panels[name])
    longer = frame[list(LENGTHS)].max(axis="columns")
    return (frame.assign(**{FIXED_LENGTH: fixed, LONGER: longer}) if x == LONGER else frame), x


def _skew(starts: str) -> float:
    """Return the longest length over the shortest, those of empty sequences left out, to two digits."""
    lengths = [end - start for start, end in pairwise(map(int, starts.split(","))) if end > start]
    return round(max(lengths) / min(lengths), 2) if lengths else 1.0

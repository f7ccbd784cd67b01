"""The published points of the problems that are nearest to measured ones, where none is of the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.reporting.captions import LONGER, values_in_words
from harness.reporting.published.points import PROBLEM, places_of

if TYPE_CHECKING:
    import pandas as pd

LENGTHS = ("seq", "seq_q", "seq_kv", LONGER)
WEIGHTS = {"head_dim": 4.0, "head_dim_v": 4.0, "seq_q": 2.0, "heads": 1.0, "kv_heads": 1.0, "batch": 1.0}
"""How far apart problems are for each factor of two between their sizes: rates depend on the width most."""
OTHER_DTYPE = 0.5
"""How far f16 and bf16 are apart; other dtypes are not compared."""
SIXTEEN_BITS = ("f16", "bf16")
THEIRS = "published_"
"""Begins the columns of a published problem beside those of a measured one."""
OTHER_PROBLEM = "other problem"
"""Ends the names of series of such points, with the width where that is another, too."""


def nearest(rows: pd.DataFrame, points: pd.DataFrame, x: str) -> tuple[pd.DataFrame, list[str]]:
    """Return the points of the nearest problems, and the words of a caption that name these.

    A point stands in the panel of the measured row that it is nearest to, but at its own place along `x`;
    its own problem is in columns that begin with `THEIRS`, see `with_own_problems`.
    Mask and sinks agree, and the dtype does as far as `OTHER_DTYPE` says.
    """
    places = places_of(rows)
    theirs = points.rename(columns={name: THEIRS + name for name in PROBLEM})
    problem = [THEIRS + name for name in PROBLEM]
    pairs = places.assign(row=range(len(places))).merge(theirs[problem].drop_duplicates(), how="cross")
    pairs = pairs[_is_comparable(pairs)]
    pairs = pairs.assign(distance=_distance(pairs)).sort_values("distance", kind="stable")
    panel = [name for name in places if name not in (*LENGTHS, x, "batch")]
    closest = pairs.drop_duplicates("row").drop_duplicates([*panel, *problem])
    along_x = LENGTHS if x in LENGTHS else (x,) if x in PROBLEM else ()
    own_places = {
        name: closest[THEIRS + ("seq_q" if name in LENGTHS else name)] for name in along_x if name in closest
    }
    found = closest.assign(**own_places).merge(theirs, on=problem)
    widths = found[THEIRS + "head_dim"]
    other_width = (", head dim " + widths.astype(str)).where(widths != found["head_dim"], "")
    found = found.assign(label=found["label"] + f" ({OTHER_PROBLEM}" + other_width + ")")
    return found.drop(columns=["row", "distance"]), _in_words(closest[problem])


def with_own_problems(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows whose points of other problems have the sizes of these, not those of their panels."""
    if THEIRS + "seq_q" not in rows:
        return rows
    sizes = {name: name for name in PROBLEM} | dict.fromkeys(LENGTHS, "seq_q")
    own = {name: rows[THEIRS + theirs] for name, theirs in sizes.items() if name in rows}
    return rows.assign(
        **{name: rows[name].astype(object).where(column.isna(), column) for name, column in own.items()}
    )


def _is_comparable(pairs: pd.DataFrame) -> pd.Series[bool]:
    theirs = pairs[THEIRS + "dtype"]
    same_dtype = (pairs["dtype"] == theirs) | (pairs["dtype"].isin(SIXTEEN_BITS) & theirs.isin(SIXTEEN_BITS))
    same_mask = pairs["causal"].astype(bool) == pairs[THEIRS + "causal"]
    return same_dtype & same_mask & (pairs["sinks"] == pairs[THEIRS + "sinks"])


def _distance(pairs: pd.DataFrame) -> pd.Series[float]:
    import numpy as np

    distance = OTHER_DTYPE * (pairs["dtype"] != pairs[THEIRS + "dtype"]).astype(float)
    for name, weight in WEIGHTS.items():
        ratio = pairs[name].astype(float) / pairs[THEIRS + name].astype(float)
        distance = distance + weight * np.abs(np.log2(ratio))
    return distance


def _in_words(problems: pd.DataFrame) -> list[str]:
    """Return the sizes of published problems, `head dim 64`, `seq 512, 1024`; without what is as usual."""
    frame = problems.rename(columns=lambda name: name.removeprefix(THEIRS))
    frame = frame.assign(seq_kv=frame["seq_q"])
    unusual = [
        name
        for name, usual in (("head_dim_v", "head_dim"), ("kv_heads", "heads"))
        if bool((frame[name] != frame[usual]).any())
    ]
    return values_in_words(frame, ["head_dim", "seq_q", "batch", "heads", *unusual, "dtype"])

"""The published points that belong to measured problems: of the same ones, else of the nearest."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from harness.problem.attention_problem import FLOP_CONVENTION
from harness.reporting.captions import FIXED_LENGTH, LONGER
from harness.reporting.frames import PROBLEM_COLUMNS, RUN_COLUMNS, RUN_LABEL
from harness.reporting.published.table import PlainMask, points_of_file, points_of_package
from harness.system.errors import InputError
from harness.system.plurals import counted

if TYPE_CHECKING:
    import pandas as pd

PROBLEM = ("dtype", "batch", "heads", "kv_heads", "seq_q", "head_dim", "head_dim_v", "causal", "sinks")
"""Columns of results that a measured row and a point of its problem agree in."""
PLACE = {*PROBLEM, *PROBLEM_COLUMNS, *RUN_COLUMNS, RUN_LABEL, FIXED_LENGTH, LONGER, "seq", "skew"}
"""Columns that a point has from the measured row of its problem."""
SOURCE = "source"
"""Column that says who published a row; measured rows have none."""
OF_SERIES = ("implementation", "version", "color_number", "marker_number")
"""Columns that say what was measured, and how its series looks wherever it is drawn."""
MOST_SOURCES, MOST_DEVICES = 4, 3
"""Sources that a caption names, and devices of each; of more it says how many there are."""
DETAILS = re.compile(r":| \((?!arXiv)|, ")
"""What follows the name of a source: the file in a repository, a remark."""


def published_points(
    devices: Sequence[str] | None = None,
    implementations: Sequence[str] | None = None,
    file: str | None = None,
    *,
    with_package: bool = True,
) -> pd.DataFrame:
    """Return the points whose device and implementation contain one of the given words each.

    They are those of a reader's own `file`, the package's, or both.  They have the columns of `PROBLEM`,
    `label` for device and implementation, `OF_SERIES`, `tflops`, `status` and `source`.  Upper and lower case
    count as the same.
    """
    import pandas as pd

    tables = [points_of_package()] * with_package + ([points_of_file(Path(file))] if file else [])
    return named(_with_series(pd.concat(tables, ignore_index=True)), devices, implementations)


def _with_series(points: pd.DataFrame) -> pd.DataFrame:
    """Add the columns of `OF_SERIES` and `label`, which names a version where there are several."""
    import pandas as pd

    versions = points.groupby(["device", "implementation"])["version"].transform("nunique")
    version = (" (" + points["version"] + ")").where((points["version"] != "") & (versions > 1), "")
    label = (points["device"] + ", ").where(points["device"] != "", "") + points["implementation"] + version
    return points.assign(
        label=label.str.replace("$", r"\$", regex=False),  # else matplotlib reads a formula
        color_number=pd.factorize(points["implementation"])[0],
        marker_number=pd.factorize(label)[0],
    )


def named(
    points: pd.DataFrame, devices: Sequence[str] | None, implementations: Sequence[str] | None
) -> pd.DataFrame:
    """Return the points whose device and implementation contain one of the given words each.

    Raises `InputError` where none does: the setting is then a mistake, or of other points.
    """
    for key, words in (("device", devices), ("implementation", implementations)):
        if words is not None:
            names = points[key].astype(object).fillna("").astype(str)
            pattern = "|".join(map(re.escape, words))
            chosen = points[names.str.contains(pattern, case=False, regex=True)]
            if chosen.empty:
                there = ", ".join(sorted({name for name in names if name})) or "none"
                asked = ", ".join(words)
                raise InputError(f"published_{key}s: found {asked}, expected words of these names: {there}")
            points = chosen
    return points


def matching(rows: pd.DataFrame, points: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each point of the problem of each measured row, with the row's place and run."""
    return places_of(rows).merge(points, on=list(PROBLEM))


def places_of(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the places of the measured rows whose problems somebody may have published, see `PLACE`."""
    is_plain = rows["mask"].isin(get_args(PlainMask)) & rows["flop_convention"].eq(FLOP_CONVENTION)
    is_plain &= rows["seq_q"].eq(rows["seq_kv"])
    for column in ("softcap", "model_width"):
        is_plain &= rows[column].isna()
    for column in ("bias", "log_sum_exp"):
        is_plain &= ~rows[column].eq(True).fillna(False).astype(bool)
    plain = rows[is_plain]
    plain = plain.assign(sinks=plain["sinks"].eq(True).fillna(False).astype(bool))
    return plain[[name for name in plain if name in PLACE]].drop_duplicates()


def sources(points: pd.DataFrame) -> str:
    """Return a sentence that names what was published where, as far as a caption has room."""
    named = points.assign(**{SOURCE: points[SOURCE].map(_short_source)})
    names = []
    for source, of_source in named.groupby(SOURCE, sort=False):
        devices = of_source.groupby(["device", "version"], sort=False)["implementation"].unique()
        measured = [
            ", ".join(filter(None, [": ".join(filter(None, [device, " · ".join(of_device)])), version]))
            for device, version, of_device in devices.reset_index().itertuples(index=False, name=None)
        ]
        names.append(f"{source} ({_shortened(measured, MOST_DEVICES, 'device')})")
    return (
        "Hatched or hollow: published by others, not measured here; "
        f"from {_shortened(names, MOST_SOURCES, 'source')}."
    )


def _short_source(source: str) -> str:
    """Return the name of a source, `NVIDIA/cudnn-frontend@3929da2`, without what follows it."""
    return re.sub(r"(@[0-9a-f]{7})[0-9a-f]+$", r"\1", DETAILS.split(source)[0])


def _shortened(texts: Sequence[str], most: int, word: str) -> str:
    """Return the first of some texts, and how many there are besides."""
    others = len(texts) - most
    if others <= 1:  # its name takes no more room
        return "; ".join(texts)
    return "; ".join([*texts[:most], f"and {counted(others, f'more {word}')}"])

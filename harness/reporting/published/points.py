"""The published points: rows with a source, read from the package's table, and those of measured problems."""

from __future__ import annotations

import functools
import importlib.resources
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.problem.attention_problem import FLOP_CONVENTION
from harness.reporting.captions import FIXED_LENGTH, LONGER
from harness.reporting.frames import PROBLEM_COLUMNS, RUN_COLUMNS, RUN_LABEL
from harness.system.status import Status

if TYPE_CHECKING:
    import pandas as pd

TABLE = "attention_forward.csv"
OUT_OF_MEMORY = "OOM"
"""What stands in the table where the source says that memory ran out."""
PROBLEM = ("dtype", "batch", "heads", "kv_heads", "seq_q", "head_dim", "causal", "sinks")
"""Columns of results that a measured row and a point of its problem agree in."""
PLAIN_MASKS = ("full", "causal", "causal-top-left")
PLACE = {*PROBLEM, *PROBLEM_COLUMNS, *RUN_COLUMNS, RUN_LABEL, FIXED_LENGTH, LONGER, "seq", "skew"}
"""Columns that a point has from the measured row of its problem."""
SOURCE = "source"
"""Column that says who published a row; measured rows have none."""


def published_points(
    devices: Sequence[str] | None = None, implementations: Sequence[str] | None = None
) -> pd.DataFrame:
    """Return the points whose device and implementation contain one of the given words each.

    They have the columns of `PROBLEM`, `label` for device, implementation and version, `tflops`, `status`
    and `source`.  Upper and lower case count as the same.
    """
    points = _table()
    for key, words in (("device", devices), ("implementation", implementations)):
        if words is not None:
            names = points[key].str.casefold()
            points = points[[any(word.casefold() in name for word in words) for name in names]]
    return points


def matching(rows: pd.DataFrame, points: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each point of the problem of each measured row, with the row's place and run."""
    is_plain = rows["mask"].isin(PLAIN_MASKS) & rows["flop_convention"].eq(FLOP_CONVENTION)
    is_plain &= rows["seq_q"].eq(rows["seq_kv"]) & rows["head_dim"].eq(rows["head_dim_v"])
    for column in ("softcap", "model_width"):
        is_plain &= rows[column].isna()
    for column in ("bias", "log_sum_exp"):
        is_plain &= ~rows[column].eq(True).fillna(False).astype(bool)
    plain = rows[is_plain]
    plain = plain.assign(sinks=plain["sinks"].eq(True).fillna(False).astype(bool))
    return plain[[name for name in plain if name in PLACE]].merge(points, on=list(PROBLEM))


def sources(points: pd.DataFrame) -> str:
    """Return a sentence that names what was published where."""
    names = []
    for source, of_source in points.groupby(SOURCE, sort=False):
        devices = of_source.groupby("device", sort=False)["implementation"].unique()
        measured = "; ".join(f"{device}: {' · '.join(of_device)}" for device, of_device in devices.items())
        names.append(f"{source} ({measured})")
    return f"Hatched or hollow: published by others, not measured here; from {'; '.join(names)}."


@functools.cache
def _table() -> pd.DataFrame:
    import pandas as pd

    with importlib.resources.files(__package__).joinpath(TABLE).open() as file:
        table = pd.read_csv(file, keep_default_na=False).rename(columns={"seq": "seq_q"})
    version = table["version"].map(lambda text: f" ({text})" if text else "")
    is_out_of_memory = table["tflops"] == OUT_OF_MEMORY
    return table.assign(
        label=table["device"] + ", " + table["implementation"] + version,
        causal=table["mask"].str.startswith("causal"),
        sinks=table["sinks"].map({"true": True, "false": False, True: True, False: False}).astype(bool),
        tflops=pd.to_numeric(table["tflops"], errors="coerce"),
        status=is_out_of_memory.map({True: str(Status.OUT_OF_MEMORY), False: str(Status.PASSED)}),
    ).drop(columns=["mask", "version"])

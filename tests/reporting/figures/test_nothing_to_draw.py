"""Where no row suits a figure, it says that there is nothing to draw, and why: no other exception."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, get_args

import pandas as pd
import pytest
from sweeps import sweep
from synthetic_results import make_result

from harness import plugins
from harness.experiment.figure_settings import parse_settings
from harness.reporting.figures.base import Figure, NothingToDraw
from harness.reporting.frames import prepare
from harness.results.frame import results_frame
from harness.results.result import Result
from harness.system.status import Status

FIGURES = plugins.names("figure")
KNOWN: dict[str, Any] = {
    "time_s": 1e-3,
    "time_low_s": 0.9e-3,
    "time_high_s": 1.1e-3,
    "recompute_factor": 1.3337,
    "flops_executed": 10**9,
    "error_ratio": 0.5,
    "max_abs_error": 1e-5,
    "bytes": 1000,
    "workspace_bytes": 0,
    "peak_bytes": 10**6,
    "intensity": 3.0,
    "registers": 128,
    "build_s": 1.0,
}
BASELINE = make_result("unfused", baseline="unfused", speedup=1.0, **KNOWN)
COMPARED = make_result("flash", baseline="unfused", speedup=2.0, **KNOWN)
PACKED = {"cu_seqlens_q": "0,100,256", "cu_seqlens_kv": "0,100,256"}


def failed(**fields: Any) -> Result:
    return make_result("flash", 512, status=Status.CRASHED, phase="run", reason="signal 11", **fields)


ROWS = {
    "none": [],
    "failed": [failed()],
    "untimed": [make_result()],
    "places-only-where-failed": [BASELINE, COMPARED, failed(threads=2, **PACKED)],
}


DRAWN = ("untimed", "places-only-where-failed")
"""Rows of which figures are drawn, over each axis."""


def prepared(rows: Sequence[Result]) -> pd.DataFrame:
    without_threads = [
        row if row.status is Status.CRASHED else row.model_copy(update={"threads": None}) for row in rows
    ]
    return prepare(results_frame(without_threads), ("unfused", "naive", "flash"))


def settings_of(figure: Figure) -> Iterator[dict[str, str]]:
    """Yield no setting, and each horizontal axis that a figure can have."""
    yield {}
    if "x" in figure.settings.model_fields:
        for x in get_args(figure.settings.model_fields["x"].annotation):
            yield {"x": x}


def try_all(figure: Figure, frame: pd.DataFrame, chosen: dict[str, str]) -> None:
    """Let a figure do all that a report asks of it, as far as it gets."""
    settings = parse_settings(figure, chosen)
    for ask in (figure.rows, figure.numbers):
        with suppress(NothingToDraw):
            ask(frame, settings)
    figure.draw(frame, settings, "")


OTHERS = ("speedup", "device")
"""Values that follow from others."""


OVER_SIZES = ("speedup", "operations", "memory", "error_growth")
"""Figures whose axes are those of `throughput`."""


@pytest.mark.parametrize(
    ("rows", "name"),
    [
        pytest.param(rows, name, marks=[pytest.mark.sweep] * (rows in DRAWN and name in OVER_SIZES))
        for rows in ROWS
        for name in FIGURES
    ],
)
def test_a_figure_is_drawn_or_says_why_not(rows: str, name: str) -> None:
    figure, frame = plugins.load("figure", name), prepared(ROWS[rows])
    for chosen in settings_of(figure):
        with suppress(NothingToDraw):
            try_all(figure, frame, chosen)


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("missing", sweep([*KNOWN, *OTHERS], but=["time_s", *OTHERS]))
def test_any_value_may_be_missing_everywhere(name: str, missing: str) -> None:
    rows = [row.model_copy(update={missing: None}) for row in (BASELINE, COMPARED)]
    with suppress(NothingToDraw):
        try_all(plugins.load("figure", name), prepared(rows), {})


@pytest.mark.parametrize("name", FIGURES)
def test_of_no_rows_nothing_is_drawn(name: str) -> None:
    with pytest.raises(NothingToDraw):
        try_all(plugins.load("figure", name), prepared([]), {})


def test_executed_operations_follow_from_the_factor_where_nobody_counted_them() -> None:
    rows = [row.model_copy(update={"flops_executed": None}) for row in (BASELINE, COMPARED)]
    figure = plugins.load("figure", "recompute")
    (axes,) = figure.draw(prepared(rows), parse_settings(figure, {}), "").axes
    rate = axes.get_title().removeprefix("dotted: ")
    assert float(rate.split()[0]) == pytest.approx(BASELINE.flops * 1.3337 / 1e-3 / 1e9, rel=1e-2)

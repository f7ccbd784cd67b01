"""In a merged figure, panels, rows of bars or the caption tell problems of different runs apart."""

from typing import Any

import pandas as pd
import pytest
from drawings import caption as caption_of
from drawings import headings
from matplotlib.figure import Figure as Drawing
from sweeps import sweep
from synthetic_results import example_manifest, make_result

from harness import plugins
from harness.experiment.figure_settings import parse_settings
from harness.reporting.captions import figure_caption
from harness.reporting.figures.base import Figure
from harness.reporting.figures.layout import panel_columns
from harness.reporting.frames import prepare
from harness.reporting.panel_tables import panel_tables
from harness.results.frame import results_frame
from harness.results.result import Result

VALUES: dict[str, tuple[tuple[Any, str], tuple[Any, str]]] = {
    "device": (("CPU one", "CPU one"), ("CPU two", "CPU two")),
    "threads": ((1, "threads 1"), (None, "threads none")),
    "dtype": (("f32", "f32"), ("f16", "f16")),
    "mask": (("full", "full mask"), ("causal", "causal mask")),
    "window": ((None, "window none"), ("64:0", "window 64:0")),
    "softcap": ((30.0, "softcap 30"), (30.000000001, "softcap 30.000000001")),
    "bias": ((False, "bias no"), (True, "bias yes")),
    "cu_seqlens_q": (("0,10,40", "cu seqlens q 0,10,40"), ("0,20,40", "cu seqlens q 0,20,40")),
    "kv_heads": ((16, "kv heads 16"), (2, "kv heads 2")),
    "seq_q": ((256, "seq q 256"), (128, "seq q 128")),
}
"""Two values of columns that tell problems apart, and their words in a caption."""
MANIFEST = example_manifest("", "sweep")
LABELS = {("one", "run-1"): "before", ("two", "run-1"): "after"}
MEASURED: dict[str, Any] = {
    "time_s": 1.0,
    "bytes": 2**20,
    "workspace_bytes": 2**20,
    "intensity": 10.0,
    "recompute_factor": 2.0,
    "error_ratio": 0.5,
    "registers": 32,
    "build_s": 1.0,
    "instructions": {"fma": 40},
    "model": {"cycles": 2e3, "scores": 4e3, "tensor_cycles": 1e3, "fraction_of_peak": 0.5, "bound": "tensor"},
    "baseline": "unfused",
    "speedup": 2.0,
}
"""What every figure can draw."""


FIGURES = sorted({*plugins.names("figure")} - {"matrix"})


def row(run: str, **fields: Any) -> Result:
    return make_result(experiment=run, case=f"{run} {fields}", **{**MEASURED, **fields})


def merged(*results: Result) -> pd.DataFrame:
    return prepare(results_frame(results), run_labels=LABELS)


def draw(figure: Figure, frame: pd.DataFrame, **settings: Any) -> Drawing:
    chosen = parse_settings(figure, settings)
    caption = figure_caption(figure.rows(frame, chosen), [MANIFEST])
    return figure.draw(frame, chosen, caption)


def differing(column: str) -> pd.DataFrame:
    """Two runs of several heads that differ in one column alone."""
    (first, _), (second, _) = VALUES[column]
    heads = (16,) if column == "kv_heads" else (16, 32)
    return merged(
        *(
            row(run, **{"heads": number, "kv_heads": number, column: value})
            for (run, _), value in zip(LABELS, (first, second), strict=True)
            for number in heads
        )
    )


@pytest.mark.parametrize("column", [column for column in VALUES if column != "device"])
def test_problems_of_different_runs_have_panels_of_their_own(column: str) -> None:
    assert panel_columns(differing(column), [], "heads") == [column]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", sweep(FIGURES, but=["throughput", "bounds", "memory"]))
@pytest.mark.parametrize("column", ["threads", pytest.param("softcap", marks=pytest.mark.sweep)])
def test_every_figure_tells_runs_apart(column: str, name: str) -> None:
    drawing = draw(plugins.load("figure", name), differing(column))
    is_said = all(words in caption_of(drawing) for _, words in VALUES[column])
    assert is_said or len(set(filter(None, headings(drawing)))) > 1


def test_tables_of_swept_axes_of_a_bias_have_different_headings() -> None:
    rows = [row("one", seq=seq, bias=True, bias_axes=axes) for axes in (None, "bhqk") for seq in (64, 128)]
    titles = [table.title for table in panel_tables(prepare(results_frame(rows)))]
    assert [title.partition(", ")[0] for title in titles] == ["bias axes bhqk", "bias axes hqk"]

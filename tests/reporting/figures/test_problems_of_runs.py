"""In a merged figure, panels, rows of bars or the caption say of which problem each run is."""

import re
from collections.abc import Iterable
from typing import Any

import pandas as pd
import pytest
from matplotlib.figure import Figure as Drawing
from synthetic_results import example_manifest, make_result

from harness import plugins
from harness.experiment.figure_settings import parse_settings
from harness.reporting.captions import CAPTION_COLUMNS, figure_caption, said_of_runs
from harness.reporting.figures.base import Figure
from harness.reporting.figures.layout import panel_columns
from harness.reporting.figures.memory import Memory
from harness.reporting.figures.throughput import Throughput
from harness.reporting.frames import PROBLEM_COLUMNS, RUN_LABEL, prepare
from harness.reporting.latex import summary_latex
from harness.reporting.panel_tables import panel_tables, terminal_notes
from harness.results.frame import results_frame
from harness.results.result import Result

OF_ONE_KIND = ",".join(map(str, range(100, 130)))
LENGTHS = "lengths"
VALUES: dict[str, tuple[tuple[Any, str], tuple[Any, str]]] = {
    "device": (("CPU one", "CPU one"), ("CPU two", "CPU two")),
    "target": (("cpu", "target cpu"), ("cpu:avx2", "target cpu:avx2")),
    "threads": ((1, "threads 1"), (None, "threads not recorded")),
    "dtype": (("f32", "f32"), ("f16", "f16")),
    "model_width": ((None, "model width none"), (512, "model width 512")),
    "output_projection": ((False, "output projection no"), (True, "output projection yes")),
    "head_dim": ((64, "head dim 64"), (128, "head dim 128")),
    "head_dim_v": ((64, "value dim 64"), (32, "value dim 32")),
    "mask": (("full", "mask full"), ("causal", "mask causal")),
    "causal_alignment": (
        ("bottom-right", "causal alignment bottom-right"),
        ("top-left", "causal alignment top-left"),
    ),
    "window": ((None, "window none"), ("64:0", "window 64:0")),
    "softcap": ((30.0, "softcap 30"), (30.000000001, "softcap 30.000000001")),
    "scale": ((0.125, "scale 0.125"), (0.5, "scale 0.5")),
    "bias": ((False, "bias no"), (True, "bias yes")),
    "boolean_mask": ((False, "boolean mask no"), (True, "boolean mask yes")),
    "mask_axes": ((None, "mask axes none"), ("bhqk", "mask axes bhqk")),
    "bias_axes": (("hqk", "bias axes hqk"), ("bhqk", "bias axes bhqk")),
    "sinks": ((False, "sinks no"), (True, "sinks yes")),
    "log_sum_exp": ((False, "log-sum-exp no"), (True, "log-sum-exp yes")),
    "kv_lengths": (
        (OF_ONE_KIND, "key/value lengths 100…129 (30 values, "),
        (f"{OF_ONE_KIND},7", "key/value lengths 7…129 (31 values, "),
    ),
    "cu_seqlens_q": (("0,10,40", "query sequences 0,10,40"), ("0,20,40", "query sequences 0,20,40")),
    "cu_seqlens_kv": (("0,10,40", "key/value sequences 0,10,40"), ("0,20,40", "key/value sequences 0,20,40")),
    "heads": ((16, "heads 16"), (32, "heads 32")),
    "kv_heads": ((16, "key/value heads 16"), (2, "key/value heads 2")),
    "seq_q": ((256, "seq 256"), (128, "seq 128")),
    "seq_kv": ((256, "key/value seq 256"), (512, "key/value seq 512")),
    LENGTHS: ((256, "seq 256"), (128, "seq 128")),
    "batch": ((1, "batch 1"), (2, "batch 2")),
}
"""Two values of each column that tells problems apart, and their words in a caption."""

EVERY_TIME = (LENGTHS, "threads")
"""Columns that all figures are drawn for in every run of the tests."""
MANIFEST = example_manifest("", "sweep")
LABELS = {("one", "run-1"): "before", ("two", "run-1"): "after"}
CYCLES = {"cycles": 2e3, "scores": 4e3, "tensor_cycles": 1e3, "fraction_of_peak": 0.5, "bound": "tensor"}
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
    "model": CYCLES,
    "baseline": "unfused",
    "speedup": 2.0,
}
"""What every figure can draw."""


def row(run: str, **fields: Any) -> Result:
    return make_result(experiment=run, case=f"{run} {fields}", **{**MEASURED, **fields})


def merged(*results: Result) -> pd.DataFrame:
    return prepare(results_frame(results), run_labels=LABELS)


def draw(figure: Figure, frame: pd.DataFrame, **settings: Any) -> Drawing:
    chosen = parse_settings(figure, settings)
    caption = figure_caption(figure.rows(frame, chosen), [MANIFEST], LABELS)
    return figure.draw(frame, chosen, caption)


def caption_of(drawing: Drawing) -> str:
    (text,) = [text.get_text() for text in drawing.texts if text.get_gid() == "caption"]
    return " ".join(text.split())


def headings(drawing: Drawing) -> list[str]:
    """What stands above panels."""
    titles = [axes.get_title() or axes.get_title(loc="left") for axes in drawing.axes]
    return [title for title in titles if title]


def words_of_runs(caption: str) -> dict[str, str]:
    """What a caption says of each run."""
    found = re.findall(r"(before|after): (.+?)\.(?= before:| after:| harness)", caption)
    return {str(run): f"{words};" for run, words in found}


def test_every_column_that_tells_problems_apart_has_words() -> None:
    assert set(PROBLEM_COLUMNS) == set(CAPTION_COLUMNS) >= set(VALUES) - {"device", LENGTHS}


def differing(column: str, values: Iterable[Any]) -> pd.DataFrame:
    """Two runs of several heads that differ in one column alone, or in both lengths."""
    columns = ("seq_q", "seq_kv") if column == LENGTHS else (column,)
    sizes = (16,) if column in ("heads", "kv_heads") else (16, 32)
    usual = {"bias": column == "bias_axes"}
    return merged(
        *(
            row(run, **{**usual, "heads": heads, "kv_heads": heads, **dict.fromkeys(columns, value)})
            for (run, _), value in zip(LABELS, values, strict=True)
            for heads in sizes
        )
    )


@pytest.mark.parametrize("column", VALUES)
def test_a_caption_says_beside_each_run_in_what_it_differs(column: str) -> None:
    values, words = zip(*VALUES[column], strict=True)
    frame = differing(column, values)
    told = words_of_runs(figure_caption(frame, [MANIFEST], LABELS))
    assert [text in told[run] for run, text in zip(LABELS.values(), words, strict=True)] == [True, True]
    assert panel_columns(frame, [], "heads") == []


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "x", ["heads", *(pytest.param(x, marks=pytest.mark.sweep) for x in ("seq", "batch"))]
)
@pytest.mark.parametrize("name", plugins.names("figure"))
@pytest.mark.parametrize(
    "column",
    [
        *EVERY_TIME,
        *(pytest.param(column, marks=pytest.mark.sweep) for column in VALUES if column not in EVERY_TIME),
    ],
)
def test_runs_of_different_problems_have_different_headings_or_the_caption_says_it(
    column: str, name: str, x: str
) -> None:
    figure: Figure = plugins.load("figure", name)
    values, words = zip(*VALUES[column], strict=True)
    drawing = draw(
        figure, differing(column, values), **({"x": x} if "x" in figure.settings.model_fields else {})
    )
    told = words_of_runs(caption_of(drawing))
    is_said = [text in told.get(run, "") for run, text in zip(LABELS.values(), words, strict=True)]
    assert all(is_said) or len(set(headings(drawing))) > 1


def test_without_words_of_a_column_its_values_are_panels(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = merged(row("one", softcap=10.0), row("two", softcap=20.0))
    assert panel_columns(frame, [], "seq_q") == []
    monkeypatch.setitem(CAPTION_COLUMNS, "softcap", "a softcap")
    assert said_of_runs(frame) == []
    assert panel_columns(frame, [], "seq_q") == ["softcap"]


def test_each_run_has_the_least_memory_of_its_own_problem() -> None:
    rows = [
        row(run, seq=seq, heads=heads, kv_heads=heads, bytes=heads * seq * 2**10)
        for run, heads in (("one", 2), ("two", 16))
        for seq in (64, 128)
    ]
    (axes,) = draw(Memory(), merged(*rows)).axes
    least = [list(line.get_ydata()) for line in axes.lines if line.get_gid() == "least"]  # type: ignore[call-overload]
    assert sorted(least) == [[0.125, 0.25], [1, 2]]
    words = [text.get_text() for text in axes.texts if text.get_gid() == "least"]
    assert sorted(words) == ["inputs and outputs (after)", "inputs and outputs (before)"]


def test_runs_of_equal_problems_share_the_line_of_the_least_memory() -> None:
    (axes,) = draw(Memory(), merged(*(row(run, seq=seq) for run in ("one", "two") for seq in (64, 128)))).axes
    assert len([line for line in axes.lines if line.get_gid() == "least"]) == 1
    assert [text for text in axes.texts if text.get_gid() == "least"] == []


def test_usual_axes_of_a_bias_are_named_beside_others() -> None:
    rows = [row("one", bias=True, bias_axes=axes) for axes in (None, "bhqk")]
    frame = prepare(results_frame([*rows, row("one")]))
    assert headings(draw(Throughput(), frame)) == [
        "bias no, bias axes –",
        "bias yes, bias axes bhqk",
        "bias yes, bias axes hqk",
    ]
    assert "; bias yes; bias axes bhqk." in caption_of(draw(Throughput(), prepare(results_frame(rows[1:]))))


def test_tables_of_swept_axes_of_a_bias_have_different_headings() -> None:
    rows = [row("one", seq=seq, bias=True, bias_axes=axes) for axes in (None, "bhqk") for seq in (64, 128)]
    assert [table.heading for table in panel_tables(prepare(results_frame(rows)))] == [
        "bias axes bhqk",
        "bias axes hqk",
    ]
    of_runs = [row.model_copy(update={"experiment": "two"} if row.bias_axes else {}) for row in rows]
    (table,) = panel_tables(merged(*of_runs))
    assert (table.heading, table.runs) == ("", "before: bias axes hqk. after: bias axes bhqk.")


def test_a_table_of_runs_of_one_length_each_says_both_lengths() -> None:
    rows = [row("one", seq_q=1, seq_kv=512), row("two", seq_q=256, seq_kv=256)]
    (table,) = panel_tables(merged(*rows))
    assert table.heading == "by key/value sequence length"
    assert table.runs == "before: seq 1; key/value seq 512. after: seq 256; key/value seq 256."


def test_tables_say_in_the_words_of_captions_of_which_problem_each_run_is() -> None:
    problems = {
        "one": {"heads": 8, "kv_heads": 8, "batch": 1},
        "two": {"heads": 16, "kv_heads": 16, "batch": 4},
    }
    lengths = [{"seq_q": seq, "seq_kv": seq} for seq in (64, 128)]
    frame = merged(*(row(run, **problem, **seq) for run, problem in problems.items() for seq in lengths))
    (table,) = panel_tables(frame)
    words = "before: batch 1; heads 8. after: batch 4; heads 16."
    assert (table.heading, table.runs) == ("", words)
    assert words in caption_of(draw(Throughput(), frame))
    assert f"% {words}" in list(summary_latex(frame))
    unnamed = panel_tables(frame.drop(columns=RUN_LABEL))
    assert {table.runs for table in unnamed} == {words.replace("before", "one").replace("after", "two")}
    assert terminal_notes([table], 200)[0] == words

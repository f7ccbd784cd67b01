"""Figures and tables over lengths: which lengths are lines, which are panels, and what the axis says."""

from typing import Any

import pytest
from matplotlib.axes import Axes
from sweeps import sweep
from synthetic_results import make_result

from harness.experiment.figure_settings import parse_settings
from harness.reporting.figures.base import Figure
from harness.reporting.figures.speedup import Speedup
from harness.reporting.figures.throughput import Throughput
from harness.reporting.frames import prepare
from harness.reporting.panel_tables import panel_tables
from harness.reporting.tables import summarize
from harness.results.frame import results_frame

KEYS, QUERIES, EQUAL = "key/value sequence length", "query sequence length", "sequence length"

Lengths = list[tuple[int, int]]
SQUARE: Lengths = [(256, 256), (512, 512)]
DECODE: Lengths = [(1, 256), (1, 512), (1, 1024)]

CASES: dict[str, tuple[Lengths, str | list[str], dict[str, list[int]]]] = {
    "square": (SQUARE, EQUAL, {"": [256, 512]}),
    "decode": (DECODE, KEYS, {"": [256, 512, 1024]}),
    "decode and square": (
        DECODE + SQUARE,
        KEYS,
        {"seq q 1": [256, 512, 1024], "seq q = seq kv": [256, 512]},
    ),
    "fixed queries, fewer and more keys": (
        [(128, keys) for keys in (32, 64, 128, 256)],
        KEYS,
        {"": [32, 64, 128, 256]},
    ),
    "fixed keys": ([(queries, 512) for queries in (1, 128, 512, 1024)], QUERIES, {"": [1, 128, 512, 1024]}),
    "keys that grow with queries": ([(256, 512), (512, 1024), (1024, 2048)], KEYS, {"": [512, 1024, 2048]}),
    "fewer keys that grow with queries": ([(512, 256), (1024, 512)], QUERIES, {"": [512, 1024]}),
    "a decoding step beside a square": (
        [(1, 1024), (2048, 2048)],
        KEYS,
        {"seq q 1": [1024], "seq q = seq kv": [2048]},
    ),
    "two numbers of queries": (
        [*DECODE, *((128, keys) for keys in (128, 256))],
        KEYS,
        {"seq q 1": [256, 512, 1024], "seq q 128": [128, 256]},
    ),
    "two numbers of keys": (
        [(queries, keys) for keys in (64, 128) for queries in (128, 256, 512)],
        QUERIES,
        {"seq kv 64": [128, 256, 512], "seq kv 128": [128, 256, 512]},
    ),
    "longer queries and longer keys": (
        [(1, 256), (1, 512), (512, 64), (1024, 64)],
        [QUERIES, KEYS],
        {"seq kv 64": [512, 1024], "seq q 1": [256, 512]},
    ),
}


def frame_of(lengths: Lengths) -> Any:
    return prepare(
        results_frame(
            make_result(
                variant,
                queries,
                seq_kv=keys,
                case=f"{variant} {queries} {keys}",
                time_s=queries * keys * 1e-9,
                speedup=1.0 if variant == "unfused" else 1.5,
                baseline="unfused",
                recompute_factor=1.0,
                error_ratio=0.5,
                bytes=queries + keys,
                workspace_bytes=queries,
            )
            for variant in ("flash", "unfused")
            for queries, keys in lengths
        )
    )


def ticks(axes: Axes) -> list[int]:
    return [int(label.get_text()) for label in axes.get_xticklabels()]


@pytest.mark.parametrize("figure", [Throughput(), Speedup()])
@pytest.mark.parametrize("case", sweep(CASES, but=list(CASES)[:3]))
def test_lengths_that_grow_are_lines_and_those_that_stay_are_panels(figure: Figure, case: str) -> None:
    lengths, label, panels = CASES[case]
    drawing = figure.draw(frame_of(lengths), parse_settings(figure, {}), "")
    shown = [axes for axes in drawing.axes if axes.get_visible()]
    assert [(axes.get_title(), ticks(axes)) for axes in shown] == list(panels.items())
    labels = [axes.get_xlabel() for axes in shown]
    assert labels == label if isinstance(label, list) else set(labels) - {""} == {label}


@pytest.mark.parametrize("case", CASES)
def test_tables_have_the_same_panels_and_say_which_length_is_above_the_columns(case: str) -> None:
    lengths, _, panels = CASES[case]
    tables = panel_tables(frame_of(lengths))
    assert [list(map(int, table.places)) for table in tables] == list(panels.values())
    for table, heading in zip(tables, panels, strict=True):
        assert table.title.startswith(heading)
        assert all(text != "–" for texts in table.rows.values() for text in texts)
    is_square = [lengths == SQUARE or "seq q = seq kv" in table.title for table in tables]
    assert [" sequence length" not in table.title for table in tables] == is_square


def test_seq_is_the_length_of_queries_and_keys_alike() -> None:
    frame = frame_of(DECODE + SQUARE)
    equal = frame["seq_q"] == frame["seq_kv"]
    assert (frame.loc[equal, "seq"] == frame.loc[equal, "seq_q"]).all()
    assert frame.loc[~equal, "seq"].isna().all()


@pytest.mark.parametrize(
    ("lengths", "headers", "title"),
    [
        (SQUARE, ["seq"], "batch 1"),
        (DECODE, ["seq_kv"], "seq_q 1"),
        ([(1, 512), (512, 512)], ["seq_q"], "seq_kv 512"),
        ([(512, 512)], [], "seq 512"),
        (DECODE + SQUARE, ["seq_q", "seq_kv"], "batch 1"),
    ],
)
def test_tables_name_the_lengths_that_differ(lengths: Lengths, headers: list[str], title: str) -> None:
    summary = summarize(frame_of(lengths))
    assert [column.header for column in summary.columns[: summary.problem_columns]] == headers
    assert title in summary.title.split(" · ")

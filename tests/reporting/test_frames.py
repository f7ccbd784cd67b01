from typing import Any

import pandas as pd
import pytest
from synthetic_results import make_result, sweep_results

from harness.reporting.frames import (
    describe_problem,
    distinct_texts,
    in_words,
    labels_in,
    prepare,
    records,
    runs_must_be_told_apart,
    select_variants,
    several_values,
    sort_rows,
    variant_of_labels,
)
from harness.results.frame import results_frame
from harness.results.result import Result
from harness.system.status import Status


def frame_of(*results: Result, order: tuple[str, ...] = ()) -> pd.DataFrame:
    return prepare(results_frame(results), order)


def test_the_last_row_of_a_case_counts() -> None:
    crashed = make_result(case="a", status=Status.CRASHED)
    passed = make_result(case="a", time_s=0.5)
    assert list(frame_of(crashed, passed)["status"]) == ["passed"]
    assert list(frame_of(passed, crashed)["status"]) == ["crashed"]


def test_a_variant_with_one_parameter_set_is_labelled_by_its_name() -> None:
    assert labels_in(frame_of(make_result("naive", params={"tile_kv": 64}))) == ["naive"]


def test_several_parameter_sets_are_labelled_by_what_differs() -> None:
    tiles = [make_result("naive", params={"tile_q": 32, "tile_kv": tile}) for tile in (128, 64)]
    assert labels_in(frame_of(*tiles, make_result("flash"))) == [
        "naive tile_kv=64",
        "naive tile_kv=128",
        "flash",
    ]


def test_parameters_that_are_nearly_equal_are_told_apart() -> None:
    sets = [make_result("naive", params={"alpha": alpha}) for alpha in (1.0, 1.00000001, 0.5)]
    assert labels_in(frame_of(*sets)) == ["naive alpha=0.5", "naive alpha=1", "naive alpha=1.00000001"]


def test_variants_come_in_the_experiments_order() -> None:
    rows = [make_result(name) for name in ("torch", "flash", "unfused")]
    assert labels_in(frame_of(*rows, order=("flash", "unfused", "torch"))) == ["flash", "unfused", "torch"]


def test_without_an_order_the_baseline_comes_first() -> None:
    rows = [make_result(name, baseline="unfused") for name in ("torch", "flash", "unfused")]
    assert labels_in(frame_of(*rows)) == ["unfused", "torch", "flash"]


def test_one_case_in_two_runs_makes_two_series() -> None:
    frame = frame_of(make_result(run="monday"), make_result(run="tuesday"))
    assert labels_in(frame) == ["flash (monday)", "flash (tuesday)"]


def test_one_series_in_two_experiments_is_told_apart_by_their_names() -> None:
    one = make_result(experiment="a", case="a", threads=1)
    other = make_result(experiment="b", case="b", threads=2)
    assert labels_in(frame_of(one, other)) == ["flash (a)", "flash (b)"]


def test_experiments_without_a_series_in_common_need_no_names() -> None:
    frame = frame_of(make_result("flash", experiment="a"), make_result("torch", experiment="b"))
    assert labels_in(frame) == ["flash", "torch"]


def test_runs_are_named_as_shortly_as_tells_them_apart() -> None:
    noon, one = "2026-11-21T12-00-00", "2026-11-21T13-00-00"
    same_day = frame_of(make_result(run=noon), make_result(run=one))
    assert labels_in(same_day) == ["flash (12-00-00)", "flash (13-00-00)"]
    other_day = frame_of(make_result(run=noon), make_result(run="2026-11-22T12-00-00"))
    assert labels_in(other_day) == [f"flash ({noon})", "flash (2026-11-22T12-00-00)"]
    mixed = frame_of(*(make_result(run=run, experiment="a") for run in (noon, one)), make_result(run=noon))
    assert labels_in(mixed) == ["flash (a 12-00-00)", "flash (a 13-00-00)", "flash (seq_sweep)"]


def test_two_runs_on_different_devices_are_told_apart() -> None:
    frame = frame_of(
        make_result(seq=256, run="monday", device="CPU one"),
        make_result(seq=512, run="tuesday", device="CPU two"),
    )
    assert labels_in(frame) == ["flash (monday)", "flash (tuesday)"]


def test_runs_that_complete_each_other_make_one_series() -> None:
    frame = frame_of(make_result(seq=256, run="monday"), make_result(seq=512, run="tuesday"))
    assert not runs_must_be_told_apart(frame)
    assert labels_in(frame) == ["flash"]


def test_a_subset_keeps_the_order_of_the_whole() -> None:
    frame = prepare(results_frame(sweep_results()), ("torch", "naive", "flash"))
    subset = select_variants(frame, ["flash", "naive tile_kv=128", "torch"])
    assert labels_in(subset) == ["torch", "naive tile_kv=128", "flash"]
    assert list(subset["label"].cat.categories) == list(frame["label"].cat.categories)


def test_each_label_knows_its_variant() -> None:
    tiles = [make_result("naive", params={"tile_kv": tile}) for tile in (64, 128)]
    assert variant_of_labels(frame_of(*tiles)) == {"naive tile_kv=64": "naive", "naive tile_kv=128": "naive"}


def test_rows_are_sorted_by_numbers_not_by_text_and_full_before_causal() -> None:
    rows = [make_result(seq=seq, mask=mask) for seq in (1024, 256, 4096) for mask in ("causal", "full")]
    sorted_rows = records(sort_rows(frame_of(*rows)))
    assert [(row["mask"], row["seq_q"]) for row in sorted_rows] == [
        ("full", 256),
        ("full", 1024),
        ("full", 4096),
        ("causal", 256),
        ("causal", 1024),
        ("causal", 4096),
    ]


def test_a_problem_in_one_line() -> None:
    row = dict(make_result(seq=333, mask="causal", kv_heads=4, head_dim_v=32, softcap=20.0))
    assert describe_problem(row) == "b1 h16/4 s333 d64/32 f32 causal softcap=20 threads=1"


LONG = ",".join(["7", *["60"] * 40, "1234"])

DIFFERENT: dict[str, tuple[Any, ...]] = {
    "scale": (0.125, 0.5, 0.5000001, 0.50000011),
    "bias_axes": (None, "qk"),
    "kv_lengths": (None, "256,100", "256,101", LONG, LONG.replace("7,60", "7,61"), LONG + ",9"),
    "model_width": (None, 512),
    "threads": (1, 2, None),
}


@pytest.mark.parametrize("column", DIFFERENT)
def test_different_problems_are_called_differently(column: str) -> None:
    values = DIFFERENT[column]
    names = [describe_problem(dict(make_result(bias=True, **{column: value}))) for value in values]
    assert len(set(names)) == len(values)
    assert max(map(len, names)) < 120


def test_runs_are_called_what_a_person_calls_them() -> None:
    rows = [make_result(run="monday"), make_result(run="tuesday")]
    labels = {("seq_sweep", "monday"): "before", ("seq_sweep", "tuesday"): "after"}
    assert labels_in(prepare(results_frame(rows), run_labels=labels)) == ["flash (before)", "flash (after)"]


def test_a_baseline_whose_row_is_missing_is_called_by_its_variant() -> None:
    frame = frame_of(make_result("flash", 512, baseline="unfused", baseline_case="lost"))
    assert frame["baseline_label"].tolist() == ["unfused"]


def test_rows_that_agree_elsewhere_may_differ_in_a_column() -> None:
    frame = pd.DataFrame({"a": ["x", "x", "y"], "b": [1.0, None, None], "c": [1, 1, 2]})
    assert several_values(frame, ["a"], "b")
    assert not several_values(frame, ["a"], "c")
    assert not several_values(frame, ["a", "b"], "c")
    assert several_values(frame, [], "c")
    assert not several_values(frame[:1], [], "c")


def test_only_numbers_that_would_look_alike_are_exact() -> None:
    alike = (0.1234567, 0.1234568, 1 / 3, 2.0)
    text_of = distinct_texts([*alike, float("nan"), None])
    assert [text_of(value) for value in alike] == ["0.1234567", "0.1234568", "0.333333", "2"]
    assert [in_words(value, text_of) for value in (True, False)] == ["yes", "no"]

from typing import Any

import pandas as pd
import pytest
from synthetic_results import make_result

from harness.reporting.frames import (
    describe_problem,
    labels_in,
    prepare,
    records,
    runs_must_be_told_apart,
    sort_rows,
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


def test_runs_are_named_by_what_tells_them_apart() -> None:
    of_one = frame_of(make_result(run="monday"), make_result(run="tuesday"))
    assert labels_in(of_one) == ["flash (monday)", "flash (tuesday)"]
    of_two = frame_of(make_result(experiment="a"), make_result(experiment="b"))
    assert labels_in(of_two) == ["flash (a)", "flash (b)"]
    mixed = frame_of(*(make_result(run=run, experiment="a") for run in ("1", "2")), make_result(run="1"))
    assert labels_in(mixed) == ["flash (a 1)", "flash (a 2)", "flash (seq_sweep 1)"]


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


def test_a_baseline_whose_row_is_missing_is_called_by_its_variant() -> None:
    frame = frame_of(make_result("flash", 512, baseline="unfused", baseline_case="lost"))
    assert frame["baseline_label"].tolist() == ["unfused"]

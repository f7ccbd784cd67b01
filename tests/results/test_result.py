"""The record of a case, and the table that `load` makes of many."""

import math

import pandas
import pytest
from example_results import example_result, failed_result, load
from pydantic import ValidationError

from harness.results.frame import results_frame
from harness.results.result import BY_NAME, TIMING_FIELDS, Result
from harness.system.errors import InputError
from harness.system.status import Status

TEXTS = {"timed_by": "events", "peak_unit": "fma-f32"}
"""Of fields that are no numbers."""


@pytest.mark.parametrize("field", TIMING_FIELDS)
def test_nothing_that_follows_from_a_time_stands_on_a_failed_row(field):
    with pytest.raises(ValidationError, match=f"{field} on a row that is wrong"):
        failed_result(status=Status.WRONG, **{field: TEXTS.get(field, 1.0)})


def test_an_unbounded_interval_is_recorded_as_unknown():
    result = example_result(time_low_s=-math.inf, time_high_s=math.inf, noise=math.nan)
    assert (result.time_low_s, result.time_high_s, result.noise) == (None, None, None)


@pytest.mark.parametrize("error", [math.inf, 1e-300, 0.1 + 0.2])
def test_a_result_survives_json(error):
    result = failed_result(
        status=Status.WRONG,
        max_abs_error=error,
        params={"tile": 64, "ratio": 2.0, "pack": True, "order": "k"},
    )
    restored = Result.model_validate_json(result.model_dump_json())
    assert restored == result
    assert {name: type(value) for name, value in restored.params.items()} == {
        "tile": int,
        "ratio": float,
        "pack": bool,
        "order": str,
    }


def test_columns_are_the_fields_in_order_with_params_and_stages_spread():
    results = [
        example_result(
            "a",
            params={"tile_q": 32, "tile_kv": 64},
            bandwidth_gb_s={"L1": 400.0, "memory": 20.0},
            stage_s={"payload": 0.1, "llvm": 0.2},
            instructions={"matrix": 8, "float": 5},
            model={"fraction_of_peak": 0.5, "bound": "tensor"},
        ),
        failed_result("b"),
    ]
    frame = results_frame(results)
    columns = list(frame.columns)
    fields = [field for field in Result.model_fields if field not in BY_NAME]
    assert [column for column in columns if "." not in column and column != "seq"] == fields
    after = columns.index("params") + 1
    assert columns[after : after + 2] == ["param.tile_kv", "param.tile_q"]
    assert {"stage_s.payload", "stage_s.llvm", "bandwidth_gb_s.memory"} < set(columns)
    assert frame["params"].tolist() == ["tile_kv=64 tile_q=32", ""]
    assert frame["model.fraction_of_peak"].dtype == "float64"
    assert frame["model.bound"].isna().tolist() == [False, True]
    assert frame["seq"].tolist() == frame["seq_q"].tolist() == frame["seq_kv"].tolist()


@pytest.mark.parametrize(
    ("column", "dtype"),
    [
        ("seq_q", "int64"),
        ("samples", "Int64"),
        ("causal", "boolean"),
        ("time_s", "float64"),
        ("status", "str"),
        ("stage_s.llvm", "float64"),
        ("param.tile", "Int64"),
    ],
)
@pytest.mark.parametrize("only_failed", [False, True])
def test_column_types_do_not_depend_on_which_values_are_missing(column, dtype, only_failed):
    results = [failed_result("a", params={"tile": 8}, stage_s={"llvm": 1.0})]
    if not only_failed:
        results.append(example_result("b", busy=False))
    assert results_frame(results)[column].dtype == pandas.Series([], dtype=dtype).dtype


@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        ([64, 128], "Int64", [64, 128]),
        ([64, 0.5], "float64", [64.0, 0.5]),
        ([True, False], "boolean", [True, False]),
        (["small", 3], "str", ["small", "3"]),
        ([True, 2], "str", ["True", "2"]),
    ],
)
def test_a_parameter_column_holds_the_values_of_all_variants(values, dtype, expected):
    frame = results_frame([example_result(str(value), params={"p": value}) for value in values])
    assert frame["param.p"].dtype == pandas.Series([], dtype=dtype).dtype
    assert frame["param.p"].tolist() == expected


def test_load_of_nothing_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"missing: no such folder; expected a run's folder"):
        load(tmp_path / "missing")
    (tmp_path / "base.toml").touch()
    with pytest.raises(InputError, match=r"base\.toml: is a file; expected a run's folder"):
        load(tmp_path / "base.toml")
    with pytest.raises(InputError, match="holds no results; expected a run's folder"):
        load(tmp_path)

"""What two runs keep of the same code's outputs, element by element."""

import io
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from example_cases import example_experiment
from hypothesis import given
from hypothesis import strategies as st

from harness.bench.comparing.comparison import compare_runs
from harness.bench.comparing.outputs import compare_outputs, units_between
from harness.bench.comparing.text import markdown, plain_lines
from harness.bench.running.progress import PlainObserver
from harness.bench.running.runner import run_experiment
from harness.problem.dtypes import NUMPY_DTYPES
from harness.results.kept_outputs import file_of, keep_outputs, kept_outputs
from harness.results.run_folder import RunFolder

DTYPES = list(NUMPY_DTYPES)
F16 = NUMPY_DTYPES["f16"]


def units(old: list[float], new: list[float], dtype: np.dtype = F16) -> list[float]:
    return units_between(np.array(old, dtype), np.array(new, dtype)).tolist()


@pytest.mark.parametrize("dtype", DTYPES)
def test_neighbours_are_one_unit_apart_on_both_sides_of_zero(dtype: str) -> None:
    bits = f"u{NUMPY_DTYPES[dtype].itemsize}"
    small, one = np.array([1, 2], bits).view(NUMPY_DTYPES[dtype]), np.ones(1, NUMPY_DTYPES[dtype])
    next_one = (one.view(bits) + np.array(1, bits)).view(NUMPY_DTYPES[dtype])
    assert units_between(small[:1], small[1:]) == 1
    assert units_between(one, next_one) == 1
    assert units_between(-one, -next_one) == 1
    assert units_between(small[:1], -small[:1]) == 2


def test_zeros_are_the_same_number_and_nan_is_none() -> None:
    assert units([0.0, -0.0], [-0.0, 0.0]) == [0, 0]
    assert units([np.nan, np.nan, 1.0], [np.nan, 1.0, np.nan]) == [0, np.inf, np.inf]
    assert units([np.inf], [65504.0]) == [1]
    assert units_between(np.zeros(2, F16), np.zeros(3, F16)) == np.inf


@given(st.lists(st.integers(0, 2**16 - 1), min_size=3, max_size=3))
def test_units_are_a_distance(bits: list[int]) -> None:
    numbers = np.array(bits, np.uint16).view(F16)
    one, other, third = (numbers[place : place + 1] for place in range(3))
    assert units_between(one, one) == 0
    assert units_between(one, other) == units_between(other, one)
    if not np.isnan(numbers).any():
        assert units_between(one, third) <= units_between(one, other) + units_between(other, third)
        assert (units_between(one, other) == 0) == bool(one == other)


def run_of(folder: Path, outputs: dict[str, np.ndarray], error_ratio: float) -> RunFolder:
    (folder / "outputs").mkdir(parents=True)
    for case, output in outputs.items():
        keep_outputs(file_of(folder, case), {"output": output}, error_ratio)
    run: RunFolder = object.__new__(RunFolder)
    run.path = folder
    return run


def test_each_output_that_both_runs_keep_is_a_row_the_furthest_apart_first(tmp_path: Path) -> None:
    ones = np.ones(4, F16)
    other = ones.copy()
    other[1:3] += np.array([2**-10, 3 * 2**-10], F16)
    old = run_of(tmp_path / "old", {"a": ones, "b": ones, "c": ones}, 0.25)
    new = run_of(tmp_path / "new", {"a": ones, "b": other, "d": ones}, 0.5)
    cases = pd.DataFrame({"case": ["a", "b", "c", "d"], "variant": "flash"})
    compared = compare_outputs(old, new, cases)
    assert compared[["case", "elements", "differing", "most_units"]].to_numpy().tolist() == [
        ["b", 4, 0.5, 3.0],
        ["a", 4, 0.0, 0.0],
    ]
    assert set(compared["output_error_old"]) == {0.25}
    assert set(compared["output_error_new"]) == {0.5}
    assert set(compared["variant"]) == {"flash"}
    assert compare_outputs(old, new, cases[2:]).empty


@pytest.mark.usefixtures("example_plugin")
def test_a_run_keeps_what_its_cases_give_and_a_comparison_tells_what_differs(tmp_path: Path) -> None:
    experiment = example_experiment(
        ["numpy-attention", "wrong"], check={"keep_outputs": True}, timing={"enabled": False}
    )
    summary = run_experiment(
        experiment,
        experiment.cases(),
        out=tmp_path / "old",
        resume=False,
        timed=False,
        observer=PlainObserver(io.StringIO()),
        command=["harness", "check", "tiny.toml"],
    )
    shutil.copytree(summary.folder, tmp_path / "new")
    runs = [RunFolder.open(folder) for folder in (summary.folder, tmp_path / "new")]
    right, wrong = (row.case for row in runs[1].results())
    kept = {case: kept_outputs(file_of(runs[1].path, case)) for case in (right, wrong)}
    assert kept[right].error_ratio <= 1 < kept[wrong].error_ratio  # type: ignore[union-attr]
    assert all(compare_runs(*runs).outputs["differing"] == 0)
    changed = kept[right].arrays["output"].copy()  # type: ignore[union-attr]
    changed.reshape(-1)[0] = np.nan
    keep_outputs(file_of(runs[1].path, right), {"output": changed}, 7.0)
    comparison = compare_runs(*runs)
    assert comparison.outputs["most_units"].tolist()[0] == np.inf
    told = [line for line in plain_lines(comparison) if line.strip().startswith(right)]
    assert len(told) == 1
    assert "inf units in the last place" in told[0]
    assert right in markdown(comparison)

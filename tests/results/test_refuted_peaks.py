"""Peaks that a row refutes: of which rows they are, and that nobody reads their fractions."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from example_results import example_manifest, example_result

import harness
from harness.results.frame import results_frame
from harness.results.refuted_peaks import REFUTED_BY, REFUTED_PEAK, credible_peaks, with_refuted_peaks
from harness.results.result import Result
from harness.results.run_folder import RunFolder

PEAK = 0.15


def row(tflops: float, peak: float = PEAK, **fields: Any) -> Result:
    fraction = tflops / peak if tflops <= peak else None
    known = {
        "case": repr((tflops, fields)),
        "tflops": tflops,
        "peak_tflops": peak,
        "fraction_of_peak": fraction,
    }
    return example_result(**{**known, "device": "a processor", "threads": 1, **fields})


def judged(*rows: Result) -> pd.DataFrame:
    return with_refuted_peaks(results_frame(rows))


@pytest.mark.parametrize("fields", [{}, {"dtype": "bf16"}, {"mask": "causal", "causal": True}, {"seq_q": 8}])
def test_a_row_above_the_peak_refutes_it_for_all_rows_that_share_it(fields: dict[str, Any]) -> None:
    frame = judged(row(0.17), row(0.16), row(0.1, **fields))
    assert frame["fraction_of_peak"].isna().all()
    assert list(frame[REFUTED_PEAK]) == [PEAK] * 3
    assert list(frame[REFUTED_BY]) == [2] * 3
    assert credible_peaks(frame).isna().all()
    assert list(frame["peak_tflops"]) == [PEAK] * 3


@pytest.mark.parametrize(
    "fields",
    [
        {"run": "other"},
        {"experiment": "other"},
        {"device": "other"},
        {"threads": 2, "peak": 0.3},
        {"target_options": {"unit": "vector"}},
        {"target_options": {"unit": "vector"}, "peak": 0.3},
    ],
)
def test_what_was_measured_apart_keeps_its_peak(fields: dict[str, Any]) -> None:
    frame = judged(row(0.17), row(0.1), row(0.12, **fields))
    assert list(frame["fraction_of_peak"].notna()) == [False, False, True]
    assert list(credible_peaks(frame).notna()) == [False, False, True]
    assert frame[REFUTED_BY].isna().tolist() == [False, False, True]


def test_rows_that_no_peak_is_known_of_refute_none() -> None:
    frame = judged(row(0.1), example_result(case="other", tflops=9.0, device="a processor", threads=1))
    assert frame["fraction_of_peak"].tolist()[0] == pytest.approx(0.1 / PEAK)
    assert REFUTED_PEAK not in frame


def test_while_a_run_goes_on_its_best_peak_so_far_is_asked() -> None:
    early, late = row(0.17), row(0.1, peak=0.2)
    frame = judged(early, late)
    assert frame["fraction_of_peak"].isna().tolist() == [True, False]
    assert REFUTED_PEAK not in frame
    frame = judged(early, late, row(0.21, peak=0.2), row(0.12))
    assert frame["fraction_of_peak"].isna().all()
    assert list(frame[REFUTED_PEAK]) == [0.2] * 4
    assert list(frame[REFUTED_BY]) == [1] * 4


def test_a_run_that_is_loaded_has_no_fractions_of_a_refuted_peak(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "sweep", example_manifest())
    for result in (row(0.17), row(0.1, dtype="f16"), row(0.12, threads=2, peak=0.3)):
        folder.append_result(result)
    assert harness.load(folder.path)["fraction_of_peak"].isna().tolist() == [True, True, False]
    folder.finish()
    saved = pd.read_parquet(folder.path / "results.parquet")
    for frame in (saved, harness.load(folder.path)):
        assert frame["fraction_of_peak"].isna().tolist() == [True, True, False]
        assert frame["peak_tflops"].tolist() == [PEAK, PEAK, 0.3]
    assert [result.fraction_of_peak for result in folder.lines()][1] == pytest.approx(0.1 / PEAK)

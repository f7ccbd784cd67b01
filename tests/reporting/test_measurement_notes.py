from typing import Any

import pytest
from synthetic_results import make_result

from harness.reporting.frames import prepare
from harness.reporting.measurement_notes import measurement_notes, peak_notes, refuted_peak_notes
from harness.results.frame import results_frame


def notes(*rows: dict[str, Any]) -> list[str]:
    results = [
        make_result(case=str(number), **{"time_s": 1.0, "tflops": 0.1, "starts": 5, **row})
        for number, row in enumerate(rows)
    ]
    frame = prepare(results_frame(results))
    return [*measurement_notes(frame), *peak_notes(frame)]


def test_of_a_quiet_measurement_nothing_is_said() -> None:
    assert notes({"busy": False, "peak_tflops": 0.2, "peak_busy": False, "fraction_of_peak": 0.5}) == []


def test_busy_rows_are_counted() -> None:
    assert notes({"busy": True}, {"busy": False}, {}) == [
        "Busy, others used the processors meanwhile: 1 of 3 rows"
    ]


def test_rows_of_wide_intervals_are_counted() -> None:
    wide = {"time_s": 1e-3, "time_low_s": 0.8e-3, "time_high_s": 1.4e-3}
    narrow = {"time_s": 1e-3, "time_low_s": 0.8e-3, "time_high_s": 1.2e-3}
    unclear = narrow | {"speedup": 1.0, "speedup_low": 0.7, "speedup_high": 1.4}
    (note,) = notes(wide, narrow, unclear)
    assert note.endswith("2 of 3 rows")
    assert notes(narrow) == []


def test_rows_of_one_start_and_of_older_versions_are_counted() -> None:
    (note,) = notes({"starts": 1}, {"starts": None}, {})
    assert note.startswith("Timed in one start")
    assert note.endswith("2 of 3 rows")


def test_rows_that_a_killed_run_compares_with_several_peaks_are_told_of() -> None:
    assert notes({"peak_tflops": 0.2}, {"peak_tflops": 0.3, "dtype": "bf16"}) == []
    assert notes({"peak_tflops": 0.2}, {"peak_tflops": 0.3, "target_options": {"unit": "tensor"}}) == []
    assert notes({"peak_tflops": 0.2}, {"peak_tflops": 0.3}) == [
        "Fractions of peak are of several peaks, since a run has not ended: --resume ends it"
    ]


def test_a_peak_of_a_busy_machine_is_said_to_be_one() -> None:
    assert notes({"peak_tflops": 0.2, "peak_busy": True}) == [
        "The measured peak is of a busy machine and may be too low"
    ]


def test_what_is_faster_than_the_peak_is_said_to_be_impossible() -> None:
    (note,) = notes({"peak_tflops": 0.09, "peak_busy": False}, {"peak_tflops": 0.2, "dtype": "bf16"})
    assert note == (
        "Faster than the measured peak of 90.0 GFLOP/s, which is therefore too low and is not compared with: "
        "1 row"
    )


def test_equal_peaks_of_several_options_are_refuted_apart() -> None:
    options = [{"target_options": {"unit": unit}, "peak_tflops": 0.09} for unit in ("tensor", "vector")]
    (note,) = notes(*options)
    assert note.startswith("Faster than the measured peaks of 90.0 GFLOP/s, which are")
    assert note.endswith("2 rows")


def test_rows_that_refute_a_peak_count_where_others_are_shown() -> None:
    measured = [
        (0.2, 0.1, 1, "monday"),
        (0.3, 0.1, 1, "monday"),
        (0.05, 0.1, 1, "monday"),
        (0.5, 0.2, 2, "monday"),
        (0.1, 0.2, 2, "monday"),
        (0.1, 0.2, 1, "friday"),
    ]
    rows = [
        make_result(case=str(number), time_s=1.0, tflops=tflops, peak_tflops=peak, threads=threads, run=run)
        for number, (tflops, peak, threads, run) in enumerate(measured)
    ]
    frame = prepare(results_frame(rows), run_labels={("seq_sweep", "monday"): "before"})
    slow = frame[frame["tflops"] <= 0.1]
    assert list(refuted_peak_notes(slow)) == [
        "Faster than the measured peaks of 100, 200 GFLOP/s, which are therefore too low and are not "
        "compared with: 3 rows (before)"
    ]
    assert list(refuted_peak_notes(slow[slow["run"] == "friday"])) == []


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([{"samples": 6, "starts": 1}], "Samples: 6 rounds in 1 start"),
        ([{"samples": 1, "starts": 2}], "Samples: 1 round in 2 starts"),
        ([{"samples": 1, "starts": 1}, {"samples": 6, "starts": 3}], "Samples: 1–6 rounds in 1–3 starts"),
        ([{"samples": 1, "starts": None}], "Samples: 1 round"),
    ],
)
def test_one_round_and_one_start_are_no_plurals(rows: list[dict[str, Any]], words: str) -> None:
    assert notes(*rows)[0] == words

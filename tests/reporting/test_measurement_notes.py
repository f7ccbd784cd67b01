from typing import Any

from synthetic_results import make_result

from harness.reporting.frames import prepare
from harness.reporting.measurement_notes import measurement_notes, peak_notes
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


def test_rows_of_one_setting_with_several_peaks_are_told_of() -> None:
    assert notes({"peak_tflops": 0.2}, {"peak_tflops": 0.3, "dtype": "bf16"}) == []
    assert notes({"peak_tflops": 0.2}, {"peak_tflops": 0.3, "target_options": {"unit": "tensor"}}) == []
    (note,) = notes({"peak_tflops": 0.2}, {"peak_tflops": 0.3})
    assert "several peaks" in note


def test_a_peak_of_a_busy_machine_is_said_to_be_one() -> None:
    assert notes({"peak_tflops": 0.2, "peak_busy": True}) == [
        "The measured peak is of a busy machine and may be too low"
    ]


def test_rows_above_the_peak_are_counted() -> None:
    (note,) = notes({"peak_tflops": 0.09, "peak_busy": False}, {"peak_tflops": 0.2, "dtype": "bf16"})
    assert "100 %" in note
    assert note.endswith(": 1 row")


def test_a_peak_of_another_type_is_not_called_too_low() -> None:
    known = {"peak_tflops": 0.09, "peak_busy": False, "peak_dtype": "f32"}
    (note,) = notes({**known, "dtype": "bf16"}, {**known, "tflops": 0.05})
    assert "of f32 and not of their type: 1 row" in note
    (note,) = notes({**known, "peak_dtype": "bf16 tiles", "dtype": "bf16"})
    assert "too low there: 1 row" in note

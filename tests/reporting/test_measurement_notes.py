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
    assert notes({"busy": False, "peak_tflops": 0.2, "fraction_of_peak": 0.5}) == []


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


def test_a_peak_is_named_with_the_range_of_its_spread() -> None:
    known = {"peak_unit": "fma-f32", "peak_tflops": 0.2}
    (note,) = notes({**known, "peak_noise": 0.01}, {**known, "peak_noise": 0.025}, known)
    assert "fma-f32" in note
    assert "1.00–2.50 %" in note


def test_rows_above_the_peak_are_counted() -> None:
    above = {"peak_tflops": 0.09, "fraction_of_peak": 1.1}
    (note,) = notes({**above, "peak_unit": "fma-f32"}, {"peak_tflops": 0.2, "fraction_of_peak": 0.5})
    assert "100 % of the peak of fma-f32" in note
    assert note.endswith(": 1 row")
    (note,) = notes(above)
    assert note.endswith(": 1 row")

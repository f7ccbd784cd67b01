"""The figure of searches: trials, the best until then, and what was refused or wrong."""

from typing import Any

import pytest
from drawings import caption, draw, error_bars, headings, legend, lines
from synthetic_results import make_result

from harness.reporting.figures.base import NothingToDraw
from harness.reporting.figures.tuning import Tuning
from harness.results.result import Result
from harness.system.status import Status


def trial(number: int, speedup: float | None, **fields: Any) -> Result:
    params = {"tile_q": 16 + number}
    timed = {} if speedup is None else {"time_s": 1.0, "speedup": speedup}
    return make_result("flash", 256, trial=number, params=params, **{**timed, **fields})


def modelled(number: int, fraction: float, **fields: Any) -> Result:
    model = {"fraction_of_peak": fraction, "peak_flops_per_cycle": 1000.0}
    return trial(number, None, status=Status.EMULATED, flops_executed=10**6, model=model, **fields)


TRIALS = (
    trial(0, 1.0),
    trial(1, 1.2, speedup_low=1.1, speedup_high=1.3),
    trial(2, None, status=Status.UNSUPPORTED),
    trial(3, 0.8),
    trial(4, None, status=Status.WRONG),
    trial(5, 1.5),
)


def test_points_are_trials_and_the_line_is_the_best_until_then() -> None:
    (axes,) = draw(Tuning(), *TRIALS).axes
    assert lines(axes, "best") == [[(0, 1.0), (1, 1.2), (3, 1.2), (5, 1.5)]]
    assert error_bars(axes)[1] == pytest.approx([1.1, 1.3])
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("trial", "speed-up")


def test_what_was_refused_or_wrong_stands_at_the_foot() -> None:
    drawing = draw(Tuning(), *TRIALS)
    (axes,) = drawing.axes
    assert [x for x, _ in lines(axes, "refused")[0]] == [2]
    assert [x for x, _ in lines(axes, "wrong")[0]] == [4]
    assert legend(drawing) == ["trial", "best until then", "refused", "wrong or failed"]


def test_each_search_has_a_panel() -> None:
    others = [row.model_copy(update={"head_dim": 128, "case": f"b{row.case}"}) for row in TRIALS]
    drawing = draw(Tuning(), *TRIALS, *others)
    assert headings(drawing) == ["head dim 64", "head dim 128"]


def test_a_model_is_called_a_model() -> None:
    drawing = draw(Tuning(), modelled(0, 0.4), modelled(1, 0.6))
    (axes,) = drawing.axes
    assert axes.get_ylabel() == "modelled speed-up"
    assert lines(axes, "best") == [[(0, 1.0), (1, pytest.approx(1.5))]]
    assert "Nothing is measured" in caption(drawing)


def test_rows_of_other_runs_are_no_trials() -> None:
    with pytest.raises(NothingToDraw, match="no row is a trial"):
        draw(Tuning(), make_result("flash", 256))

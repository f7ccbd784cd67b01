from typing import Any

import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from synthetic_results import make_result

from harness.experiment.figure_settings import parse_settings
from harness.reporting.figures.base import NothingToDraw
from harness.reporting.figures.bounds import SIMULATED, Bounds
from harness.reporting.figures.common_cases import LENGTH_NOTE
from harness.reporting.frames import prepare
from harness.results.frame import results_frame
from harness.results.result import Result
from harness.status import Status


def draw(*results: Result, **settings: Any) -> Drawing:
    figure = Bounds()
    frame: pd.DataFrame = prepare(results_frame(results), ("flash", "triton", "torch"))
    return figure.draw(frame, parse_settings(figure, settings), "the caption")


def modelled(variant: str, fraction: float, scores: float = 4000, **fields: Any) -> Result:
    model = {
        "fraction_of_peak": fraction,
        "bound": "tensor",
        "cycles": 2000.0,
        "scores": scores,
        "tensor_cycles": 1200.0,
        "special_cycles": 800.0,
        "l2_cycles": 0.0,
    }
    defaults = {"status": Status.BUILT, "target": "cuda:sm_80", "model": model}
    return make_result(variant, **{**defaults, **fields})


FLASH, TRITON = modelled("flash", 0.6), modelled("triton", 0.7, scores=8000)


def widths(axes: Axes, part: str) -> list[float]:
    return [float(bar.get_width()) for bar in axes.patches if bar.get_gid() == part]  # type: ignore[attr-defined]


def words(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts if text.get_gid() == "value"]


def test_a_stack_has_the_cycles_of_each_part_for_a_thousand_scores() -> None:
    (axes,) = draw(FLASH, TRITON).axes
    assert widths(axes, "tensor") == pytest.approx([300, 150])
    assert widths(axes, "special") == pytest.approx([200, 100])
    assert widths(axes, "l2") == []
    assert [label.get_text() for label in axes.get_yticklabels()] == ["flash", "triton"]


def test_every_bar_is_hatched_because_it_is_modelled() -> None:
    drawing = draw(FLASH, TRITON)
    (axes,) = drawing.axes
    assert {bar.get_hatch() for bar in axes.patches} == {"////"}
    (caption,) = [text.get_text() for text in drawing.texts if text.get_gid() == "caption"]
    assert caption.startswith("Modelled, nothing is measured")
    assert "modelled" in axes.get_xlabel()


def test_the_fraction_and_what_bounds_it_stand_beside_the_stack() -> None:
    (axes,) = draw(FLASH, TRITON).axes
    assert words(axes) == ["60.0 % of peak, bound by tensor", "70.0 % of peak, bound by tensor"]


def test_a_line_is_at_the_simulated_time() -> None:
    (axes,) = draw(FLASH).axes
    (line,) = [entry for entry in axes.collections if entry.get_gid() == SIMULATED]
    assert line.get_segments()[0][:, 0] == pytest.approx([500, 500])


def test_of_several_lengths_the_longest_is_drawn_and_the_caption_says_so() -> None:
    drawing = draw(FLASH, modelled("flash", 0.65, seq=512))
    (axes,) = drawing.axes
    assert (axes.get_title(), words(axes)) == ("", ["65.0 % of peak, bound by tensor"])
    (caption,) = [text.get_text() for text in drawing.texts if text.get_gid() == "caption"]
    assert LENGTH_NOTE in " ".join(caption.split())


def test_problems_with_other_code_are_panels_whatever_is_asked_for() -> None:
    rows = [modelled(name, 0.5, softcap=30.0, case=f"{name} capped") for name in ("flash", "triton")]
    drawing = draw(FLASH, *rows)
    assert sorted(axes.get_title() for axes in drawing.axes) == ["softcap 30", "softcap –"]


def test_cases_without_a_model_are_left_out() -> None:
    drawing = draw(FLASH, make_result("torch", time_s=1.0))
    (axes,) = drawing.axes
    (caption,) = [text.get_text() for text in drawing.texts if text.get_gid() == "caption"]
    assert "Without a model, so not shown: 1 of 2 cases (torch)." in caption.replace("\n", " ")
    assert [label.get_text() for label in axes.get_yticklabels()] == ["flash"]


@pytest.mark.parametrize("model", [{}, {"fraction_of_peak": 0.5, "bound": "tensor", "cycles": 100.0}])
def test_without_any_model_there_is_nothing_to_draw(model: dict[str, Any]) -> None:
    with pytest.raises(NothingToDraw, match="no case has a model of what bounds its code"):
        draw(modelled("flash", 0.5, model=model))


ASSEMBLED = {"intrinsics": "mma.sync", "registers": 128, "model": {}}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"registers": None}, "ptxas, which the model reads machine code with: install attention-harness"),
        ({}, "nvdisasm, which the model reads machine code with: install attention-harness"),
    ],
)
def test_a_program_that_code_was_built_without_is_the_reason(fields: dict[str, Any], reason: str) -> None:
    torch = make_result("torch", target="cuda:sm_80", time_s=1.0)
    with pytest.raises(NothingToDraw, match=f"no case has a model .*: built with no {reason}"):
        draw(modelled("flash", 0.5, **{**ASSEMBLED, **fields}), torch)


@pytest.mark.parametrize(
    "fields",
    [
        {"instructions": {"matrix": 3}},
        {"target": "rocm:gfx942"},
        {"intrinsics": None, "registers": None},
    ],
)
def test_no_program_is_missed_where_code_was_read_or_is_somebody_else_s(fields: dict[str, Any]) -> None:
    with pytest.raises(NothingToDraw, match=r"no case has a model of what bounds its code$"):
        draw(modelled("flash", 0.5, **{**ASSEMBLED, **fields}))

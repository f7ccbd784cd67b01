"""Figures of rows: what code takes, its instructions, what bounds it, and how long building it takes."""

from typing import Any

import pytest
from drawings import caption, draw, frame_of, headings, widths, words
from matplotlib.patches import Rectangle
from synthetic_results import make_result

from harness.experiment.figure_settings import parse_settings
from harness.reporting.figures.base import Figure, Unreadable
from harness.reporting.figures.bounds import SIMULATED, Bounds
from harness.reporting.figures.build_time import BuildTime
from harness.reporting.figures.instruction_mix import InstructionMix
from harness.reporting.figures.resources import Resources
from harness.reporting.figures.stacked import LENGTH_NOTE, MOST_PARTS, SMALLER
from harness.results.result import Result
from harness.system.status import Status


def built(variant: str, seq: int = 64, **fields: Any) -> Result:
    known: dict[str, Any] = {"status": Status.EMULATED, "target": "cuda:sm_80", **fields}
    return make_result(variant, seq, **known)


FLASH = built("flash", registers=128, shared_bytes=27648, occupancy=0.25)
NAIVE = built("naive", registers=250, shared_bytes=55296)


def test_a_column_for_each_quantity_with_values() -> None:
    drawing = draw(Resources(), FLASH, NAIVE)
    assert [axes.get_xlabel().split()[0] for axes in drawing.axes] == ["registers", "shared", "occupancy"]
    assert [words(axes) for axes in drawing.axes] == [["128", "250"], ["27.0", "54.0"], ["25.0", "–"]]
    assert [label.get_text() for label in drawing.axes[0].get_yticklabels()] == ["flash", "naive"]


@pytest.mark.parametrize(
    ("fields", "form"),
    [({"softcap": 30.0}, "softcap 30"), ({"kv_heads": 4}, "kv heads 4"), ({"batch": 2}, "batch 2")],
)
@pytest.mark.parametrize("figure", [Resources(), InstructionMix(), BuildTime()])
def test_what_tells_problems_apart_has_rows(figure: Figure, fields: dict[str, Any], form: str) -> None:
    known: dict[str, Any] = {"registers": 9, "instructions": {"fma": 9}, "build_s": 9.0, "bias": False}
    rows = [built(variant, **known) for variant in ("flash", "naive")]
    drawing = draw(figure, *rows, built("naive", case="other", **{**known, **fields}))
    forms = list(filter(None, headings(drawing)))
    assert (len(forms), sum(form in heading for heading in forms)) == (2, 1)


def test_a_batch_that_follows_the_length_shares_its_row() -> None:
    drawing = draw(Resources(), FLASH, built("flash", 128, registers=182, batch=2))
    assert (headings(drawing)[0], words(drawing.axes[0])) == ("", ["182"])


def test_too_many_rows_are_refused() -> None:
    rows = [built("flash", head_dim=8 * place, registers=9) for place in range(1, 60)]
    with pytest.raises(Unreadable, match=r"59 rows .* narrow them down with variants or where"):
        draw(Resources(), *rows)


def test_instructions_are_of_each_key_where_known() -> None:
    model = {"instructions_per_score": 0.75, "tensor_per_score": 0.5, "alu_per_score": 0.25}
    modelled = built("flash", model=model, instructions={"tensor": 90, "integer": 210})
    drawing = draw(InstructionMix(), modelled, built("naive", instructions={"tensor": 60}))
    (axes,) = drawing.axes
    assert axes.get_xlabel() == "instructions for each key"
    assert (widths(axes, "tensor"), widths(axes, "alu")) == ([0.5], [0.25])
    assert words(axes) == ["0.750"]
    assert "Without a value, so not shown: naive (emulated)." in caption(drawing)
    (axes,) = draw(InstructionMix(), modelled, per="code").axes
    assert axes.get_xlabel() == "instructions in the code"
    assert words(axes) == ["300"]


def test_build_time_is_stacked_by_stage() -> None:
    (axes,) = draw(BuildTime(), built("flash", build_s=0.6, stage_s={"payload": 0.2, "object": 0.3})).axes
    assert widths(axes, "object") == pytest.approx([300])
    assert widths(axes, "others") == pytest.approx([100])
    assert words(axes) == ["600"]
    assert axes.get_xlabel() == "build time (ms)"


def sized(variant: str, seq: int, amount: float, **fields: Any) -> Result:
    """Return a row whose code took so many seconds to build."""
    return built(variant, seq, build_s=amount, **fields)


def test_series_are_compared_at_their_longest_common_length() -> None:
    rows = [sized("flash", seq, amount) for seq, amount in ((64, 40), (128, 80), (256, 90))]
    rows += [sized("naive", 128, 50), sized("naive", 256, 30, mask="causal")]
    rows += [sized("flash", seq, seq, mask="causal") for seq in (64, 256)]
    figure = BuildTime()
    drawing = draw(figure, *rows)
    assert [words(axes) for axes in drawing.axes] == [["80.0", "50.0"], ["256", "30.0"]]
    assert LENGTH_NOTE in caption(drawing)
    shown = figure.rows(frame_of(*rows), parse_settings(figure, {}))
    assert list(shown["seq_q"]) == [128, 128, 256, 256]
    apart = draw(figure, sized("flash", 64, 40), sized("naive", 128, 50))
    assert words(apart.axes[0]) == ["40.0", "50.0"]


def modelled(variant: str, fraction: float, scores: float = 4000) -> Result:
    model = {
        "fraction_of_peak": fraction,
        "bound": "tensor",
        "cycles": 2000.0,
        "scores": scores,
        "tensor_cycles": 1200.0,
        "special_cycles": 800.0,
        "l2_cycles": 0.0,
    }
    return built(variant, status=Status.BUILT, model=model)


def test_parts_that_work_at_once_stand_below_each_other() -> None:
    torch = make_result("torch", time_s=1.0)
    drawing = draw(Bounds(), modelled("flash", 0.6), modelled("triton", 0.7, scores=8000), torch)
    (axes,) = drawing.axes
    assert widths(axes, "tensor") == pytest.approx([300, 150])
    assert widths(axes, "special") == pytest.approx([200, 100])
    assert widths(axes, "l2") == []
    bars = [bar for bar in axes.patches if isinstance(bar, Rectangle)]
    assert {bar.get_x() for bar in bars} == {0}
    assert len({bar.get_y() for bar in bars}) == len(bars) == 4
    assert axes.get_xlim()[1] < 1000
    assert words(axes) == ["60.0 % of peak, bound by tensor", "70.0 % of peak, bound by tensor"]
    first = next(entry for entry in axes.collections if entry.get_gid() == SIMULATED)
    assert first.get_segments()[0][:, 0] == pytest.approx([500, 500])  # type: ignore[attr-defined]
    assert {bar.get_hatch() for bar in axes.patches} == {"////"}
    assert caption(drawing).startswith("Modelled, nothing is measured")
    assert "Without a value, so not shown: torch (passed)." in caption(drawing)


def test_the_smallest_parts_become_one() -> None:
    counts = {f"class{number:02}": number for number in range(1, MOST_PARTS + 4)}
    (axes,) = draw(InstructionMix(), built("flash", instructions=counts)).axes
    assert widths(axes, SMALLER) == [1 + 2 + 3]


def titles(figure: Figure, *rows: Result, **settings: Any) -> list[str]:
    """Return the lines above a figure, of its legend or its own."""
    drawing = draw(figure, *rows, **settings)
    above = [legend.get_title().get_text() for legend in drawing.legends] or [drawing.get_suptitle()]
    return [line for text in above for line in text.split("\n")]


def test_a_title_says_that_no_time_was_measured() -> None:
    rows = [built("flash", registers=9), built("naive", registers=9, status=Status.BUILT)]
    assert titles(Resources(), rows[0]) == ["Emulated: no time was measured"]
    both = ["Ours", "Emulated and built, not run: no time was measured"]
    assert titles(Resources(), *rows, title="Ours") == both
    assert titles(Resources(), rows[0], make_result("torch", registers=9, time_s=1.0)) == [""]
    assert titles(Bounds(), modelled("flash", 0.6)) == ["Built, not run: no time was measured"]
    assert titles(BuildTime(), make_result(build_s=1.0)) == [""]


def test_in_a_column_of_a_paper_quantities_stand_in_several_lines() -> None:
    quantities = {"registers": 1, "spills": 1, "shared_bytes": 1, "occupancy": 0.5, "code_bytes": 1}
    rows = [
        built(variant, head_dim=width, **quantities) for variant in ("flash", "naive") for width in (64, 128)
    ]
    page, column = draw(Resources(), *rows), draw(Resources(), *rows, width="column")
    for drawing, shape in ((page, (2, 5)), (column, (4, 3))):
        shown = [axes for axes in drawing.axes if axes.get_visible()]
        grid = shown[0].get_gridspec()
        assert grid is not None
        assert (grid.nrows, grid.ncols) == shape
        assert len(shown) == 2 * len(quantities)
    assert all(axes.get_xlabel() for axes in column.axes if axes.get_visible())
    assert not page.axes[0].get_xlabel()

"""Figures of rows: what the code takes, its instructions, and how long building it takes."""

from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from synthetic_results import make_result

from harness.experiment.figure_settings import parse_settings
from harness.reporting.figures.base import Figure, NothingToDraw, Unreadable
from harness.reporting.figures.build_time import BuildTime
from harness.reporting.figures.instruction_mix import InstructionMix
from harness.reporting.figures.resources import Resources
from harness.reporting.figures.stacked import MOST_PARTS, OTHERS
from harness.reporting.frames import prepare
from harness.results.frame import results_frame
from harness.results.result import Result
from harness.status import Status


def draw(figure: Figure, *results: Result, **settings: Any) -> Drawing:
    frame = prepare(results_frame(results), ("flash", "naive"))
    return figure.draw(frame, parse_settings(figure, settings), "the caption")


def words(axes: Axes, kind: str = "value") -> list[str]:
    return [text.get_text() for text in axes.texts if text.get_gid() == kind]


def headings(drawing: Drawing) -> list[str]:
    """Return what stands above the panels of forms, the names of quantities left out."""
    lines = [
        title
        for axes in drawing.axes
        for title in (axes.get_title() or axes.get_title(loc="left")).split("\n")[-1:]
    ]
    return [line for line in lines if line.strip() and not line.startswith(("a thread", "registers"))]


def all_words(drawing: Drawing) -> list[str]:
    return [text for axes in drawing.axes for text in words(axes)]


def widths(axes: Axes, part: str) -> list[float]:
    return [float(bar.get_width()) for bar in axes.patches if bar.get_gid() == part]  # type: ignore[attr-defined]


def caption(drawing: Drawing) -> str:
    (text,) = [text.get_text() for text in drawing.texts if text.get_gid() == "caption"]
    return " ".join(text.split())


def built(variant: str, seq: int = 64, **fields: Any) -> Result:
    return make_result(variant, seq, status=Status.EMULATED, target="cuda:sm_80", **fields)


FLASH = built("flash", registers=128, spills=0, shared_bytes=27648, occupancy=0.25)
LONGER = built("flash", 128, registers=182, spills=0, shared_bytes=27648, occupancy=0.125)
NAIVE = built("naive", registers=250, spills=0, shared_bytes=55296)


def test_a_column_for_each_quantity_with_the_values_beside_the_bars() -> None:
    drawing = draw(Resources(), FLASH, NAIVE)
    titles = [axes.get_title(loc="left").split()[0] for axes in drawing.axes]
    assert titles == ["registers", "shared", "occupancy"]
    assert [words(axes) for axes in drawing.axes] == [["128", "250"], ["27", "54"], ["25", "–"]]
    assert [label.get_text() for label in drawing.axes[0].get_yticklabels()] == ["flash", "naive"]


def test_lengths_share_a_row_that_says_the_range() -> None:
    drawing = draw(Resources(), FLASH, LONGER)
    registers, _, occupancy = drawing.axes
    assert words(registers) == ["128–182"]
    assert widths(registers, "bar") == [182]
    assert words(occupancy) == ["12.5–25"]


def test_what_is_zero_everywhere_is_said_instead_of_drawn() -> None:
    assert "0 in all rows: spilled registers. the caption" in caption(draw(Resources(), FLASH))


def test_forms_are_headings_and_by_says_what_comes_first() -> None:
    rows = [FLASH, built("flash", mask="causal", registers=90), built("flash", dtype="f16", registers=91)]
    forms = ["f16, full mask", "f32, causal mask", "f32, full mask"]
    assert sorted(headings(draw(Resources(), *rows))) == forms
    forms = ["causal mask, f32", "full mask, f16", "full mask, f32"]
    assert sorted(headings(draw(Resources(), *rows, by=["mask"]))) == forms


@pytest.mark.parametrize(
    ("fields", "form"),
    [
        ({"softcap": 30.0}, "softcap 30"),
        ({"bias": True}, "bias yes"),
        ({"sinks": True}, "sinks yes"),
        ({"kv_heads": 4}, "kv heads 4"),
        ({"head_dim_v": 32}, "head dim v 32"),
        ({"heads": 8}, "heads 8"),
        ({"batch": 2}, "batch 2"),
    ],
)
@pytest.mark.parametrize("figure", [Resources(), InstructionMix(), BuildTime()])
def test_whatever_else_tells_problems_apart_has_rows_of_its_own(
    figure: Figure, fields: dict[str, Any], form: str
) -> None:
    known: dict[str, Any] = {
        "registers": 9,
        "instructions": {"fma": 9},
        "build_s": 9.0,
        "bias": False,
        "sinks": False,
    }
    rows = [built(variant, **known) for variant in ("flash", "naive")]
    other = built("naive", case="other", **{**known, "build_s": 90.0, **fields})
    forms = headings(draw(figure, *rows, other))
    assert (len(forms), form in forms) == (2, True)


ALIKE = (0.1234567, 0.1234568)
"""Numbers that agree in six digits."""


@pytest.mark.parametrize("column", ["scale", "softcap"])
def test_forms_that_agree_in_six_digits_are_forms_of_their_own(column: str) -> None:
    fields: dict[str, Any] = {"build_s": 9.0}
    first, second = ({**fields, column: value} for value in ALIKE)
    rows = [
        *(built("flash", seq, case=f"first {seq}", **first) for seq in (64, 128)),
        built("naive", 64, case="first", **first),
        *(built(variant, 128, case=f"second {variant}", **second) for variant in ("flash", "naive")),
    ]
    drawing = draw(BuildTime(), *rows)
    assert headings(drawing) == [f"{column} {value}" for value in ALIKE]
    for axes in drawing.axes:
        assert [label.get_text() for label in axes.get_yticklabels()] == ["flash", "naive"]
    assert "are left out: 1 of 5 cases" in caption(drawing)


def test_forms_without_a_value_are_one_form() -> None:
    rows = [
        built(variant, case=f"{variant} {softcap}", build_s=9.0, softcap=softcap)
        for variant in ("flash", "naive")
        for softcap in (None, 30.0)
    ]
    assert sorted(headings(draw(BuildTime(), *rows))) == ["softcap 30", "softcap –"]


def test_forms_that_only_some_lengths_have_are_no_lengths() -> None:
    longer = built("flash", 128, registers=182, softcap=30.0)
    assert sorted(headings(draw(Resources(), FLASH, longer))) == ["softcap 30", "softcap –"]


def test_a_batch_that_follows_the_length_shares_its_row() -> None:
    longer = built("flash", 128, registers=182, batch=2)
    drawing = draw(Resources(), FLASH, longer)
    assert (drawing.axes[0].get_title(), words(drawing.axes[0])) == ("", ["128–182"])


def test_too_many_rows_are_refused_with_what_to_narrow_down() -> None:
    rows = [built("flash", head_dim=8 * place, registers=9) for place in range(1, 60)]
    with pytest.raises(
        Unreadable, match=r"59 rows \(1 series, 59 of head_dim\).* narrow them down with variants or where"
    ):
        draw(Resources(), *rows)


def test_instructions_are_of_each_key_where_a_loop_is_known() -> None:
    model = {"instructions_per_score": 0.75, "tensor_per_score": 0.5, "alu_per_score": 0.25}
    (axes,) = draw(InstructionMix(), built("flash", model=model, instructions={"tensor": 90})).axes
    assert axes.get_xlabel() == "instructions for each key"
    assert (widths(axes, "tensor"), widths(axes, "alu")) == ([0.5], [0.25])
    assert words(axes) == ["0.750"]


def test_instructions_are_of_the_code_where_it_is_not_or_by_choice() -> None:
    row = built("flash", model={"tensor_per_score": 0.5}, instructions={"tensor": 90, "integer": 210})
    (axes,) = draw(InstructionMix(), row, per="code").axes
    assert widths(axes, "integer") == [210]
    assert words(axes) == ["300"]
    (other,) = draw(InstructionMix(), built("flash", instructions={"tensor": 90})).axes
    assert other.get_xlabel() == "instructions in the code"


def test_the_smallest_parts_become_one() -> None:
    counts = {f"class{number:02}": number for number in range(1, MOST_PARTS + 4)}
    drawing = draw(InstructionMix(), built("flash", instructions=counts))
    (legend,) = drawing.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names[0] == f"class{MOST_PARTS + 3:02}"
    assert names[-1] == OTHERS
    assert widths(drawing.axes[0], OTHERS) == [1 + 2 + 3]


def test_build_time_is_the_mean_of_a_rows_cases_by_stage() -> None:
    stages = [{"payload": 0.1, "object": 0.3}, {"payload": 0.2, "object": 0.4}]
    rows = [built("flash", 64 * place, build_s=0.6, stage_s=of) for place, of in enumerate(stages, 1)]
    (axes,) = draw(BuildTime(), *rows).axes
    assert widths(axes, "object") == pytest.approx([350])
    assert widths(axes, OTHERS) == pytest.approx([100])
    assert words(axes) == ["600"]
    assert axes.get_xlabel() == "build time (ms)"


def sized(variant: str, seq: int, amount: float, **fields: Any) -> Result:
    """Return a row whose code has so many instructions and took so many seconds to build."""
    return built(
        variant, seq, instructions={"fma": int(amount)}, build_s=amount, registers=int(amount), **fields
    )


SHORTER_AND_LONGER = [
    sized("flash", 64, 40),
    sized("flash", 128, 80),
    sized("flash", 256, 90),
    sized("naive", 128, 50),
]
LEFT_OUT = "Lengths that not all series below a heading have are left out: 2 of 4 cases."


@pytest.mark.parametrize("figure", [InstructionMix(), BuildTime()])
def test_series_are_compared_at_the_lengths_that_all_of_them_have(figure: Figure) -> None:
    drawing = draw(figure, *SHORTER_AND_LONGER)
    assert words(drawing.axes[0]) == ["80.0", "50.0"]
    assert LEFT_OUT in caption(drawing)


@pytest.mark.parametrize("figure", [InstructionMix(), BuildTime()])
def test_what_is_named_as_shown_are_the_cases_that_are_compared(figure: Figure) -> None:
    frame = prepare(results_frame(SHORTER_AND_LONGER), ("flash", "naive"))
    rows = figure.rows(frame, parse_settings(figure, {}))
    assert list(zip(rows["label"], rows["seq_q"], strict=True)) == [("flash", 128), ("naive", 128)]


@pytest.mark.parametrize("figure", [InstructionMix(), BuildTime()])
def test_each_form_has_its_own_common_lengths(figure: Figure) -> None:
    causal = [sized("flash", 64, 10, mask="causal"), sized("flash", 256, 20, mask="causal")]
    causal.append(sized("naive", 256, 30, mask="causal"))
    drawing = draw(figure, *SHORTER_AND_LONGER, *causal)
    assert all_words(drawing) == ["80.0", "50.0", "20.0", "30.0"]


@pytest.mark.parametrize("figure", [InstructionMix(), BuildTime()])
def test_series_without_a_common_length_are_drawn_and_it_is_said(figure: Figure) -> None:
    drawing = draw(figure, sized("flash", 64, 40), sized("naive", 128, 50))
    assert words(drawing.axes[0]) == ["40.0", "50.0"]
    assert "Series without a common length: each is of lengths of its own." in caption(drawing)
    causal = [sized(variant, 64, 10, mask="causal") for variant in ("flash", "naive")]
    drawing = draw(figure, sized("flash", 64, 40), sized("naive", 128, 50), *causal)
    assert "Series without a common length (full mask): each" in caption(drawing)


def test_ranges_of_different_lengths_are_told() -> None:
    told = "Not all series below a heading have the same lengths."
    assert told in caption(draw(Resources(), *SHORTER_AND_LONGER))
    assert told not in caption(draw(Resources(), FLASH, NAIVE))


@pytest.mark.parametrize(
    ("figure", "reason"),
    [
        (Resources(), "no case has figures of its code"),
        (InstructionMix(), "no case has its instructions of machine code counted"),
        (BuildTime(), "no case has a build time"),
    ],
)
def test_without_such_values_there_is_nothing_to_draw(figure: Figure, reason: str) -> None:
    with pytest.raises(NothingToDraw, match=reason):
        draw(figure, make_result())


def test_the_caption_names_what_has_no_count_for_each_key() -> None:
    modelled = built("flash", model={"tensor_per_score": 3.0}, instructions={"tensor": 90})
    drawing = draw(InstructionMix(), modelled, built("naive", instructions={"tensor": 60}))
    (caption,) = [text.get_text() for text in drawing.texts if text.get_gid() == "caption"]
    words = " ".join(caption.split())
    assert "Without such a count, so not shown: 1 of 2 cases (naive)." in words
    assert 'per = "code" counts the whole code of 1 of them.' in words


@pytest.mark.parametrize(
    ("figure", "reason"),
    [(Resources(), "Without figures of its code"), (BuildTime(), "Without a build time")],
)
def test_the_caption_names_what_has_no_values(figure: Figure, reason: str) -> None:
    known = built("flash", registers=128, build_s=2.0)
    drawing = draw(figure, known, built("naive"), built("naive", 128))
    assert f"{reason}, so not shown: 2 of 3 cases (naive)." in caption(drawing)
    assert reason not in caption(draw(figure, known))


LONG_PARAMETERS = [
    {"grid_order": "longest-first", "kv_splits": 1, "tile_q": 64},
    {"grid_order": "in-order", "kv_splits": 2, "tile_q": 128},
]

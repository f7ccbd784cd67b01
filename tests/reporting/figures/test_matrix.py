"""The matrix of statuses."""

from collections import Counter
from typing import Any

import pandas as pd
import pytest
from drawings import draw_frame, frame_of, words
from matplotlib.figure import Figure as Drawing
from synthetic_results import make_result

from harness.reporting.figures.base import Unreadable
from harness.reporting.figures.matrix import (
    FAILED_LOOK,
    LEAST_SIZE,
    MOST_CELLS,
    Matrix,
    cell_look,
    cell_text,
)
from harness.results.result import Result
from harness.system.status import FAILURES, Status


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ({Status.PASSED: 24}, "24 ✓"),
        ({Status.EMULATED: 24}, "24 ✓ emulated"),
        ({Status.BUILT: 2}, "2 built"),
        ({Status.UNSUPPORTED: 24}, "24 unsupported"),
        ({Status.CRASHED: 24}, "24 crashed"),
        ({Status.WRONG: 3, Status.PASSED: 21}, "3 wrong / 24"),
        ({Status.UNSUPPORTED: 4, Status.PASSED: 20}, "20 ✓, 4 unsupported"),
        ({Status.EMULATED: 2, Status.BUILT: 1}, "2 ✓ emulated, 1 built"),
        (
            {Status.UNSUPPORTED: 4, Status.WRONG: 1, Status.CRASHED: 2, Status.PASSED: 17},
            "2 crashed, 1 wrong, 4 unsupported / 24",
        ),
    ],
)
def test_a_cell_says_what_became_of_its_cases(counts: dict[Status, int], text: str) -> None:
    assert cell_text(Counter(counts)) == text


@pytest.mark.parametrize("failure", sorted(FAILURES))
def test_one_failure_makes_a_cell_failed(failure: Status) -> None:
    assert cell_look(Counter({failure: 1, Status.PASSED: 99})) == FAILED_LOOK


def test_other_statuses_have_looks_of_their_own() -> None:
    looks = [cell_look(Counter({status: 1})) for status in Status if status not in FAILURES]
    assert len(set(looks)) == 4
    assert FAILED_LOOK[0] not in {color for color, _ in looks}


def draw(frame: pd.DataFrame, **settings: Any) -> Drawing:
    return draw_frame(Matrix(), frame, **settings)


def cells(drawing: Drawing) -> list[str]:
    return words(drawing.axes[0], "cell")


def test_variants_down_and_targets_across() -> None:
    rows = [
        make_result(variant, seq, target=target, case=f"{variant}{seq}{target}")
        for variant in ("flash", "torch")
        for target in ("cpu", "cuda:sm_80")
        for seq in (1, 2, 3)
        if (variant, target) != ("torch", "cuda:sm_80")
    ]
    drawing = draw(frame_of(*rows))
    (axes,) = drawing.axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["cpu", "cuda:sm_80"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["flash", "torch"]
    assert cells(drawing) == ["3 ✓", "3 ✓", "3 ✓"]


def test_dtypes_and_masks_are_columns_where_they_vary() -> None:
    rows = [make_result(dtype=dtype, mask=mask) for dtype in ("bf16", "f32") for mask in ("causal", "full")]
    (axes,) = draw(frame_of(*rows)).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == [
        "cpu\nf32\nfull mask",
        "cpu\nf32\ncausal mask",
        "cpu\nbf16\nfull mask",
        "cpu\nbf16\ncausal mask",
    ]


def test_the_columns_can_be_chosen() -> None:
    rows = [make_result(head_dim=head_dim) for head_dim in (64, 128)]
    (axes,) = draw(frame_of(*rows), columns=["head_dim"]).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["head dim 64", "head dim 128"]


def many_forms() -> list[Result]:
    """Hundreds of cases on five targets, of three dtypes and seven masks."""
    return [
        make_result(
            target=f"gpu:{target}", dtype=dtype, mask=f"mask{mask}", case=f"{target}{dtype}{mask}{seq}"
        )
        for target in range(5)
        for dtype in ("f32", "f16", "bf16")
        for mask in range(7)
        for seq in range(3)
    ]


def test_forms_are_counted_together_where_each_would_be_too_many() -> None:
    drawing = draw(frame_of(*many_forms()))
    (axes,) = drawing.axes
    assert len(axes.get_xticklabels()) == 5
    assert cells(drawing) == ["63 ✓"] * 5


def test_too_many_targets_are_refused() -> None:
    rows = [make_result(target=f"gpu:{number}", case=str(number)) for number in range(MOST_CELLS + 1)]
    with pytest.raises(Unreadable, match="1 series and 13 columns"):
        draw(frame_of(*rows))


@pytest.mark.parametrize(("targets", "angle"), [(2, 0.0), (MOST_CELLS, 90.0)])
@pytest.mark.parametrize("status", [Status.EMULATED, Status.UNSUPPORTED])
def test_texts_stay_legible_however_many_columns_there_are(
    targets: int, angle: float, status: Status
) -> None:
    rows = [
        make_result(variant, target=f"rocm:gfx{number}", case=f"{variant}{number}", status=status)
        for number in range(targets)
        for variant in ("flash", "split-head projections=fused")
    ]
    (axes,) = draw(frame_of(*rows)).axes
    texts = [text for text in axes.texts if text.get_gid() == "cell"]
    assert min(text.get_fontsize() for text in [*texts, *axes.get_xticklabels()]) >= LEAST_SIZE
    assert {text.get_rotation() for text in axes.get_xticklabels()} == {angle}

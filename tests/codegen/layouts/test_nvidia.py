"""The layouts of mma.sync's operands, against the instruction set's formulas."""

import pytest
from fragment_tables import Placement, assert_placement
from nvidia_fragments import a_k8_tf32, a_k16, accumulator, b_k8_tf32, b_k16

from harness.codegen.layouts.instructions.registry import INSTRUCTIONS, instruction
from harness.codegen.layouts.layout import Layout
from harness.codegen.layouts.matrix_instruction import MatrixInstruction

PLACEMENTS = {
    ("mma.sync.m16n8k16", "A"): a_k16,
    ("mma.sync.m16n8k16", "B"): b_k16,
    ("mma.sync.m16n8k16.bf16", "A"): a_k16,
    ("mma.sync.m16n8k16.bf16", "B"): b_k16,
    ("mma.sync.m16n8k8.tf32", "A"): a_k8_tf32,
    ("mma.sync.m16n8k8.tf32", "B"): b_k8_tf32,
    ("mma.sync.m16n8k8.tf32x3", "A"): a_k8_tf32,
    ("mma.sync.m16n8k8.tf32x3", "B"): b_k8_tf32,
    **{(known.name, "C"): accumulator for known in INSTRUCTIONS if known.vendor == "nvidia"},
}


def held(layout: Layout) -> dict[tuple[int, int], tuple[int, int]]:
    """Return row and column by lane and register."""
    return {(place.lane, place.register): layout.coordinates(place) for place in layout.places()}


@pytest.mark.parametrize(("name", "letter"), PLACEMENTS, ids=" ".join)
def test_an_operand_lies_as_in_the_instruction_set(name: str, letter: str) -> None:
    known = instruction(name)
    layout = known.operand_layout(letter)
    placement: Placement = PLACEMENTS[name, letter]
    if letter == "B":
        layout = layout.transposed()
    rows, columns = layout.shape
    assert_placement(
        held(layout),
        placement,
        rows=rows,
        columns=columns,
        lanes=32,
        elements=layout.registers,
        source=known.source,
    )


@pytest.mark.parametrize("known", INSTRUCTIONS, ids=lambda known: known.name)
def test_every_lane_holds_its_share_of_each_operand(known: MatrixInstruction) -> None:
    for letter in "ABC":
        layout = known.operand_layout(letter)
        elements = layout.shape[0] * layout.shape[1] * layout.replicas
        assert layout.registers * layout.lanes == elements
        assert layout.lanes == known.lanes

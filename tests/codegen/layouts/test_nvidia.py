"""The layouts of mma.sync's operands, against the instruction set's formulas."""

import pytest
from fragment_tables import assert_layout
from nvidia_fragments import a_k8_tf32, a_k16, accumulator, b_k8_tf32, b_k16

from harness.codegen.layouts.instructions.registry import INSTRUCTIONS, instruction

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


@pytest.mark.parametrize(("name", "letter"), PLACEMENTS, ids=" ".join)
def test_an_operand_lies_as_in_the_instruction_set(name: str, letter: str) -> None:
    known = instruction(name)
    layout = known.operand_layout(letter)
    given = layout.transposed() if letter == "B" else layout
    assert_layout(given, PLACEMENTS[name, letter], 32, known.source)

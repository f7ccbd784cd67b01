"""The layouts of MFMA's and WMMA's operands, against two sources, and the instructions made of them."""

import amd_fragments as fragments
import pytest
from fragment_tables import assert_layout

from harness.codegen.layouts.conversion import Conflict, convert
from harness.codegen.layouts.instructions import amd
from harness.codegen.layouts.instructions.registry import instruction
from harness.codegen.layouts.layout import tiled
from harness.codegen.layouts.matrix_instruction import MatrixInstruction

HALVED_OPERAND = amd.HALVED_ACCUMULATOR.transposed()
STATED = [known.name for known in amd.INSTRUCTIONS]


@pytest.mark.parametrize("name", STATED)
def test_operands_lie_as_in_the_calculator(name: str) -> None:
    known, (a, c) = instruction(name), fragments.CALCULATOR[name]
    lanes = fragments.lanes_of(name)
    assert_layout(known.a, a, lanes, "the calculator")
    assert_layout(known.b.transposed(), fragments.transposed(a), lanes, "the calculator")
    assert_layout(known.c, c, lanes, "the calculator")


def iree_of(known: MatrixInstruction) -> dict[str, fragments.Nested]:
    if known.lanes == 64:
        return fragments.iree_mfma(known.m, known.k)
    return fragments.IREE_GFX11 if "gfx11" in known.name else fragments.IREE_GFX12


@pytest.mark.parametrize("name", STATED)
def test_operands_lie_as_in_iree(name: str) -> None:
    known = instruction(name)
    iree, lanes = iree_of(known), fragments.lanes_of(name)
    agreed = HALVED_OPERAND if "gfx12" in name else known.a
    assert_layout(agreed, iree["A"], lanes, "IREE")
    assert_layout(agreed.transposed(), iree["B"], lanes, "IREE")
    assert_layout(known.c, iree["C"], lanes, "IREE")


def test_the_halves_of_a_wave_replicate_the_operands_on_gfx11_only() -> None:
    replicas = {known.name: known.a.replicas for known in amd.INSTRUCTIONS if known.a.replicas > 1}
    assert replicas == {f"wmma.gfx11.f32.16x16x16.{operand}": 2 for operand in ("f16", "bf16")}


@pytest.mark.parametrize("known", amd.CHAINED_INSTRUCTIONS, ids=lambda known: known.name)
def test_a_chained_result_is_the_next_operand_without_exchange(known: MatrixInstruction) -> None:
    width = 2 * max(known.n, known.k)
    found = convert(tiled(known.c, (1, width // known.n)), tiled(known.a, (1, width // known.k)))
    exchanges = "gfx11" in known.name
    assert (found.conflict is Conflict.LANE) is exchanges
    assert found.moves

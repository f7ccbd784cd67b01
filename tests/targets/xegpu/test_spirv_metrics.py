"""What is read off SPIR-V's assembly: loops, instructions by class, and registers that are live at a time."""

import pytest

from harness.targets.xegpu.chips import CHIPS
from harness.targets.xegpu.device_code import device_code
from harness.targets.xegpu.instruction_classes import class_of, instruction_classes, main_loop
from harness.targets.xegpu.registers import most_live_registers, values_of_lanes
from harness.targets.xegpu.spirv_text import Instruction, Module, innermost_loops, parsed

ASSEMBLY = """
\tOpName %40 "kernel"
\tOpName %30 "_Z38intel_sub_group_f16_f16_matrix_mad_k16Dv8_sDv8_iDv8_f"
\tOpName %31 "_Z41intel_sub_group_2d_block_read_16b_8r16x1cPU3AS1viiiDv2_iPt"
\t%1 = OpTypeVoid
\t%2 = OpTypeFloat 32
\t%3 = OpTypeVector %2 8
\t%4 = OpTypeInt 32 0
\t%5 = OpTypePointer Function %3
\t%6 = OpTypeBool
\t%7 = OpConstantNull %3
\t%30 = OpFunction %3 Pure %8
\t%32 = OpFunctionParameter %3
\tOpFunctionEnd
\t%40 = OpFunction %1 None %9
\t%41 = OpLabel
\t%42 = OpVariable %5 Function
\t%43 = OpLoad %3 %42 Aligned 32
\tOpBranch %44
\t%44 = OpLabel
\t%45 = OpPhi %3 %7 %41 %50 %44
\t%46 = OpFunctionCall %1 %31 %42
\t%47 = OpLoad %3 %42 Aligned 32
\t%48 = OpFunctionCall %3 %30 %43 %47 %45
\t%49 = OpExtInst %3 %10 fmax %48 %43
\t%50 = OpFAdd %3 %49 %48
\t%51 = OpCompositeExtract %2 %50 3
\t%52 = OpFOrdLessThan %6 %51 %51
\tOpBranchConditional %52 %44 %53
\t%53 = OpLabel
\tOpStore %60 %50 Aligned 32
\tOpReturn
\tOpFunctionEnd
"""
"""A loop that multiplies, with 8 registers of each of 16 lanes for a vector."""


def test_functions_with_bodies_are_found_with_their_blocks() -> None:
    module = parsed(ASSEMBLY)
    assert [block.label for block in module.functions["kernel"]] == ["%41", "%44", "%53"]
    assert list(module.functions) == ["kernel"]
    assert module.functions["kernel"][1].successors == ["%44", "%53"]


BRANCHES = """
\t%1 = OpFunction %2 None %3
\t%4 = OpLabel
\tOpBranch %5
\t%5 = OpLabel
\tOpBranchConditional %9 {first} %6
\t%6 = OpLabel
{last}
"""


@pytest.mark.parametrize(
    ("first", "last", "loop"),
    [
        ("%7", "\tOpReturn\n\t%7 = OpLabel\n\tOpBranch %5", ["%5", "%7"]),  # without what leaves it
        ("%5", "\tOpBranchConditional %9 %4 %7\n\t%7 = OpLabel\n\tOpReturn", ["%5"]),  # the inner one
    ],
)
def test_innermost_loops_are_what_goes_back_to_its_beginning(first: str, last: str, loop: list[str]) -> None:
    blocks = parsed(BRANCHES.format(first=first, last=last)).functions["%1"]
    assert [[block.label for block in found] for found in innermost_loops(blocks)] == [loop]


def test_instructions_count_once_for_each_component_and_products_and_messages_once() -> None:
    module = parsed(ASSEMBLY)
    loop = main_loop(module)
    assert loop is not None
    assert (loop["matrix"], loop["global"], loop["float"]) == (1, 1, 8 + 8 + 1)
    assert instruction_classes(module)["global"] == 2  # the store besides
    assert instruction_classes(module)["none"] == loop["none"] + 8 + 1  # a load of the lane's own array


@pytest.mark.parametrize(
    ("opcode", "operands", "expected"),
    [
        ("OpGroupNonUniformShuffleXor", "%2 %3 %4 %5", "shuffle"),
        ("OpExtInst", "%2 %3 native_exp2 %4", "special"),
        ("OpFDiv", "%2 %3 %4", "special"),
        ("OpExtInst", "%2 %3 fma %4 %5 %6", "float"),
        ("OpFConvert", "%2 %3", "convert"),
        ("OpControlBarrier", "%2 %3 %4", "barrier"),
        ("OpConvertPtrToU", "%2 %3", "none"),
        ("OpIAdd", "%2 %3 %4", "integer"),
        ("OpSelect", "%2 %3 %4 %5", "integer"),
        ("OpLoad", "%2 %3", "global"),
    ],
)
def test_each_instruction_has_a_class(opcode: str, operands: str, expected: str) -> None:
    assert class_of(Module(), Instruction("%1", opcode, f" {operands}")) == expected


def test_registers_are_those_of_all_values_that_are_needed_later() -> None:
    """In the loop: what was loaded before it, the product, and what the product is added to."""
    vector = 8
    assert most_live_registers(parsed(ASSEMBLY), 64) == {"kernel": 3 * vector}
    kept = ASSEMBLY.replace("OpFAdd %3 %49 %48", "OpFAdd %3 %49 %45").replace("%48 %43\n", "%48 %47\n")
    assert most_live_registers(parsed(kept), 64) == {"kernel": 4 * vector}


STRAIGHT = """
\tOpName %20 "__spirv_BuiltInSubgroupId"
\tOpName %21 "__spirv_BuiltInSubgroupLocalInvocationId"
\tOpName %40 "kernel"
\t%1 = OpTypeVoid
\t%4 = OpTypeInt 32 0
\t%5 = OpTypeVector %4 16
\t%6 = OpConstant %4 7
\t%7 = OpUndef %5
\t%40 = OpFunction %1 None %9
\t%41 = OpLabel
\t%42 = OpLoad %4 {builtin} Aligned 4
\t%43 = OpIAdd %4 %42 %6
{vector}
\tOpStore %60 %44 Aligned 4
\tOpReturn
\tOpFunctionEnd
"""
"""A vector of 16 numbers of 32 bits."""
OF_SUB_GROUP, OF_LANE = "%20", "%21"
FULL = "\t%44 = OpIMul %5 %43 %43"
CONSTRUCTED = f"\t%44 = OpCompositeConstruct %5{' %43' * 16}"
INSERTED = f"\t%45 = OpCompositeInsert %5 %43 %7 0\n\t%44 = OpVectorShuffle %5 %45 %7{' 0' * 16}"


@pytest.mark.parametrize(
    ("builtin", "vector", "registers"),
    [
        (OF_LANE, FULL, 16),  # of each lane: 64 bytes a number
        (OF_SUB_GROUP, FULL, 1),  # of all lanes together: 64 bytes for the vector
        (OF_LANE, CONSTRUCTED, 1),
        (OF_LANE, INSERTED, 1),
    ],
)
def test_what_lanes_share_and_what_is_repeated_takes_registers_once(
    builtin: str, vector: str, registers: int
) -> None:
    module = parsed(STRAIGHT.format(builtin=builtin, vector=vector))
    assert most_live_registers(module, 64) == {"kernel": registers}


def test_a_value_is_of_lanes_if_any_path_to_a_phi_is() -> None:
    module = parsed(ASSEMBLY)
    found = values_of_lanes(module, module.functions["kernel"])
    assert {"%45", "%47", "%48", "%50", "%51"} <= found
    assert "%42" not in found


def test_the_code_names_its_builtin_and_the_estimate() -> None:
    code, summary = device_code(ASSEMBLY, b"1234", CHIPS["bmg"])
    assert code.intrinsics == "intel_sub_group_f16_f16_matrix_mad_k16"
    assert [(kernel.name, kernel.registers) for kernel in code.kernels] == [("kernel", 24)]
    assert code.code_bytes == 4
    lines = summary.splitlines()
    assert lines[0] == "; kernel: about 24 registers of 64 bytes live at a time"
    assert lines[1].startswith("; main loop, of a sub-group and iteration: ")
    assert "1 matrix" in lines[1]

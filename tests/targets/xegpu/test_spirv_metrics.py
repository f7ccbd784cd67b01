"""What is read off SPIR-V's assembly: instructions by class, and the matrix instruction."""

import pytest
from spirv_loops import counted

from harness.targets.xegpu.instruction_classes import instruction_classes
from harness.targets.xegpu.lowering import metrics

HEAD = """
\tOpName %40 "kernel"
\tOpName %30 "_Z38intel_sub_group_f16_f16_matrix_mad_k16Dv8_sDv8_iDv8_f"
\tOpName %31 "_Z41intel_sub_group_2d_block_read_16b_8r16x1cPU3AS1viiiDv2_iPt"
\t%1 = OpTypeVoid
\t%2 = OpTypeFloat 32
\t%3 = OpTypeVector %2 8
\t%5 = OpTypePointer Function %3
\t%30 = OpFunction %3 Pure %8
\t%32 = OpFunctionParameter %3
\tOpFunctionEnd
\t%40 = OpFunction %1 None %9
\t%41 = OpLabel
"""
BODY = """
\t%42 = OpVariable %5 Function
\t%43 = OpLoad %3 %42 Aligned 32
\t%46 = OpFunctionCall %1 %31 %42
\t%48 = OpFunctionCall %3 %30 %43 %47 %45
\t%50 = OpFAdd %3 %49 %48
\tOpStore %60 %50 Aligned 32
\tOpReturn
\tOpFunctionEnd
"""


def test_instructions_count_once_for_each_component_and_messages_once() -> None:
    counts = instruction_classes(HEAD + BODY)
    assert counts == {"matrix": 1, "global": 2, "float": 8, "branch": 1, "none": 1 + 8}


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
        ("OpSelect", "%2 %3 %4 %5", "integer"),
        ("OpLoad", "%2 %3", "global"),
    ],
)
def test_each_instruction_has_a_class(opcode: str, operands: str, expected: str) -> None:
    assert instruction_classes(f"{HEAD}\t%9 = {opcode} {operands}\n") == {expected: 1}


def test_the_code_names_its_matrix_instruction() -> None:
    code = metrics(HEAD + BODY, b"1234")
    assert (code.intrinsics, code.code_bytes) == ("intel_sub_group_f16_f16_matrix_mad_k16", 4)


def test_the_loop_that_is_counted_is_the_one_with_the_fewest_operations_of_those_with_products() -> None:
    product, addition = "\t%48 = OpFunctionCall %3 %30 %43 %47 %45", "\t%50 = OpFAdd %3 %49 %48"
    blocks = {
        "%51": [product, "\tOpBranchConditional %1 %51 %52"],
        "%52": [addition, "\tOpBranch %54"],
        "%53": [product, addition, "\tOpStore %42 %50", "\tOpBranchConditional %1 %54 %55"],
        "%54": ["\tOpBranch %53"],
        "%55": [product, product, addition, addition, "\tOpBranchConditional %1 %52 %56"],
    }
    body = [line for label, lines in blocks.items() for line in (f"\t{label} = OpLabel", *lines)]
    entry = ["\t%42 = OpVariable %5 Function", "\tOpBranch %51"]
    code = HEAD + "\n".join([*entry, *body, "\t%56 = OpLabel", "\tOpReturn", "\tOpFunctionEnd"])
    assert counted(code) == {"matrix": 1, "branch": 1}
    without = code.replace("OpBranchConditional %1 %51 %52", "OpBranch %52")
    assert counted(without) == {"matrix": 1, "float": 8, "branch": 2}

"""Inline PTX: executed as the intrinsics and masked accesses that it stands for."""

import numpy as np
import pytest
from snippets import findings_of, nvidia, retargeted, run, threads

from harness.emulator.findings import FindingKind
from harness.emulator.retarget.inline_assembly import Instruction, parsed

STORE = "  store i32 %value, ptr addrspace(1) %out"


def test_statements_are_names_operands_and_guards():
    text = "mov.u32 $0, 0x7;\n\t@!$2 ld.global.v2.b32 { $0, $1 }, [ $3 + 16 ];"
    assert list(parsed(text)) == [
        Instruction("mov.u32", (("$0",), ("0x7",))),
        Instruction("ld.global.v2.b32", (("$0", "$1"), ("$3", "16")), guard="!$2"),
    ]


def test_a_load_without_its_guard_keeps_what_the_register_had():
    load = """
  %even = icmp eq i32 %lane, %lane
  %bit = and i32 %thread, 1
  %guard = icmp eq i32 %bit, 0
  %value = call i32 asm sideeffect "@$3 ld.global.b32 { $0 }, [ $2 + 0 ];", "=r,0,l,b"(i32 77, ptr addrspace(1) %out, i1 %guard)
"""  # noqa: E501
    _, data = run(threads(load + STORE), initial=5)
    assert data.tolist() == [5, 77] * 32


def test_a_guard_may_be_the_opposite_and_a_register_may_get_a_number_first():
    load = """
  %bit = and i32 %thread, 1
  %guard = icmp eq i32 %bit, 0
  %value = call i32 asm sideeffect "mov.u32 $0, 0x9;\\0A\\09@!$2 ld.global.b32 { $0 }, [ $1 + 0 ];", "=r,l,b"(ptr addrspace(1) %out, i1 %guard)
"""  # noqa: E501
    _, data = run(threads(load + STORE), initial=5)
    assert data.tolist() == [9, 5] * 32


def test_several_registers_come_as_a_structure():
    load = """
  %four = call { i32, i32, i32, i32 } asm sideeffect "ld.global.v4.b32 { $0, $1, $2, $3 }, [ $4 + 16 ];", "=r,=r,=r,=r,l"(ptr addrspace(1) %data)
  %value = extractvalue { i32, i32, i32, i32 } %four, 2
  store i32 %value, ptr addrspace(1) %data
"""  # noqa: E501
    _, data = run(threads(load), initial=3, block=1)
    assert data[0] == 3
    report, _ = run(threads(load), count=7, initial=3, block=1)
    assert [finding.kind for finding in report.findings] == [FindingKind.OUT_OF_BOUNDS]


def test_only_stores_whose_guard_is_set_are_made():
    store = """
  %guard = icmp slt i32 %thread, 3
  call void asm sideeffect "@$3 st.global.v2.b32 [ $2 + 0 ], { $0, $1 };", "r,r,l,b"(i32 8, i32 %thread, ptr addrspace(1) %pair, i1 %guard)
"""  # noqa: E501
    place = "  %pair = getelementptr i64, ptr addrspace(1) %data, i32 %thread\n"
    report, data = run(threads(place + store), count=6, block=32)
    assert data.tolist() == [8, 0, 8, 1, 8, 2]
    assert not report.findings, "what is not stored may lie outside"


def test_a_matrix_instruction_multiplies():
    ones = "i32 1006648320"  # two halves of 1
    multiply = f"""
  %d = call {{ float, float, float, float }} asm sideeffect "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{ $0, $1, $2, $3 }}, {{ $8, $9, $10, $11 }}, {{ $12, $13 }}, {{ $4, $5, $6, $7 }};", "=f,=f,=f,=f,0,1,2,3,r,r,r,r,r,r"(float 2.0, float 2.0, float 2.0, float 2.0, {ones}, {ones}, {ones}, {ones}, {ones}, {ones})
  %first = extractvalue {{ float, float, float, float }} %d, 0
  %value = fptosi float %first to i32
"""  # noqa: E501
    report, data = run(threads(multiply + STORE), block=32, count=32)
    assert data.tolist() == [18] * 32
    assert not report.findings


@pytest.mark.parametrize(
    ("instruction", "intrinsic"),
    [
        ("m16n8k16.row.col.f32.bf16.bf16.f32", "llvm.nvvm.mma.m16n8k16.row.col.bf16"),
        ("m16n8k8.row.col.f32.tf32.tf32.f32", "llvm.nvvm.mma.m16n8k8.row.col.tf32"),
    ],
)
def test_other_types_have_intrinsics_of_their_own(instruction, intrinsic):
    zeros = ", ".join(["i32 0"] * 6)
    body = (
        "  %d = call { float, float, float, float } asm sideeffect "
        f'"mma.sync.aligned.{instruction} {{ $0, $1, $2, $3 }}, {{ $8, $9, $10, $11 }}, {{ $12, $13 }}, '
        '{ $4, $5, $6, $7 };", "=f,=f,=f,=f,0,1,2,3,r,r,r,r,r,r"('
        f"float 0.0, float 0.0, float 0.0, float 0.0, {zeros})"
    )
    assert retargeted(nvidia(body)).intrinsics == {intrinsic: 1}


def test_copies_are_asynchronous():
    copy = """
  %from = getelementptr i32, ptr addrspace(1) %data, i32 0
  call void asm sideeffect "cp.async.cg.shared.global [ $0 + 0 ], [ $1 + 0 ], 0x10, $2;", "r,l,r"(ptr addrspace(3) @shared, ptr addrspace(1) %from, i32 16)
  call void @llvm.nvvm.cp.async.commit.group()
"""  # noqa: E501
    wait = "  call void @llvm.nvvm.cp.async.wait.group(i32 0)\n"
    read = "  %value = load i32, ptr addrspace(3) @shared\n"
    report, data = run(threads(copy + wait + read + STORE), block=1, initial=6)
    assert not report.findings
    assert data[0] == 6
    assert findings_of(threads(copy + read + STORE), block=1)


def test_rounding_to_tf32():
    body = """
  %value = call i32 asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(i32 1065357312)
"""
    _, data = run(threads(body + STORE), block=1)
    assert data[:1].view(np.float32)[0] == np.float32(1.0009765625)

"""Loads and stores of device code: the runtime is asked before each, or makes it itself."""

import re

import pytest
from snippets import amd, lines_of, nvidia, retargeted

from harness.emulator.retarget.retargeted import Retargeted
from harness.errors import BuildError


def assert_in_order(code: Retargeted, *patterns: str) -> None:
    """Check that lines of the kernel match the patterns, one after another."""
    lines = iter(lines_of(code))
    for pattern in patterns:
        assert any(re.fullmatch(pattern, line) for line in lines), f"{pattern}\n{code.llvm_ir}"


def test_a_load_asks_for_its_address_with_size_alignment_and_site() -> None:
    code = retargeted(nvidia("  %value = load <4 x float>, ptr addrspace(1) %data, align 16"))
    assert_in_order(
        code,
        r"%7 = call ptr @emulator_load_address\(ptr %0, i64 16, i64 16, i32 0\)",
        r"%\d+ = load <4 x float>, ptr %7, align 1",
    )


def test_a_store_asks_for_its_address() -> None:
    code = retargeted(nvidia("  store i16 7, ptr addrspace(1) %data, align 2"))
    assert_in_order(
        code,
        r"%7 = call ptr @emulator_store_address\(ptr %0, i64 2, i64 2, i32 0\)",
        r"store i16 7, ptr %7, align 1",
    )


@pytest.mark.parametrize(
    ("kind", "size"),
    [
        ("i1", 1),
        ("i8", 1),
        ("half", 2),
        ("bfloat", 2),
        ("<3 x i1>", 1),
        ("<9 x i1>", 2),
        ("<3 x half>", 6),
        ("float", 4),
        ("i64", 8),
        ("ptr addrspace(3)", 8),
        ("double", 8),
        ("[3 x float]", 12),
        ("[2 x [4 x half]]", 16),
        ("[2 x <4 x half>]", 16),
        ("[2 x ptr]", 16),
        ("<32 x float>", 128),
    ],
)
def test_the_size_of_an_access_is_the_type_s(kind: str, size: int) -> None:
    code = retargeted(nvidia(f"  %value = load {kind}, ptr addrspace(1) %data, align 1"))
    assert_in_order(code, rf"%\d+ = call ptr @emulator_load_address\(ptr %0, i64 {size}, i64 1, i32 0\)")


def test_a_type_of_unknown_size_is_named() -> None:
    with pytest.raises(BuildError, match=r"the size of .*struct.* is not known to the emulator"):
        retargeted(nvidia("  %value = load { float, i32 }, ptr addrspace(1) %data"))


def test_each_access_is_a_site_of_its_own_with_its_line() -> None:
    code = retargeted(
        nvidia(
            "  %value = load float, ptr addrspace(1) %data\n"
            "  %sum = fadd float %value, 1.0\n"
            "  store float %sum, ptr addrspace(1) %data"
        )
    )
    assert [site.operation for site in code.sites] == ["llvm.load", "llvm.store"]
    first, second = (site.line for site in code.sites)
    assert first < second


def test_an_atomic_access_is_refused() -> None:
    with pytest.raises(BuildError, match=r"no model of an atomic llvm\.load"):
        retargeted(nvidia("  %value = load atomic i32, ptr addrspace(1) %data monotonic, align 4"))


@pytest.mark.parametrize(
    ("instruction", "name"),
    [
        ("%old = atomicrmw add ptr addrspace(1) %data, i32 1 monotonic", r"llvm\.atomicrmw"),
        ("%pair = cmpxchg ptr addrspace(1) %data, i32 1, i32 2 monotonic monotonic", r"llvm\.cmpxchg"),
        (
            "call void @llvm.memset.p1.i64(ptr addrspace(1) %data, i8 0, i64 16, i1 false)",
            r"llvm\.intr\.memset",
        ),
    ],
)
def test_other_operations_on_memory_are_refused_by_name(instruction: str, name: str) -> None:
    memset = "declare void @llvm.memset.p1.i64(ptr addrspace(1), i8, i64, i1)"
    with pytest.raises(BuildError, match=f"no model of {name}"):
        retargeted(nvidia(f"  {instruction}", before=memset))


MASKED = """
declare <4 x float> @llvm.masked.load.v4f32.p1(ptr addrspace(1), i32, <4 x i1>, <4 x float>)
declare void @llvm.masked.store.v4f32.p1(<4 x float>, ptr addrspace(1), i32, <4 x i1>)
"""

MASK = "<4 x i1> <i1 true, i1 true, i1 false, i1 true>"
"""Bits 0, 1 and 3: 11."""


def test_a_masked_load_is_made_by_the_runtime_from_the_values_passed_through() -> None:
    code = retargeted(
        nvidia(
            "  %value = call <4 x float> @llvm.masked.load.v4f32.p1(ptr addrspace(1) %data, i32 4, "
            f"{MASK}, <4 x float> zeroinitializer)",
            before=MASKED,
        )
    )
    assert_in_order(
        code,
        r"store <4 x float> zeroinitializer, ptr %3, align 1",
        r"call void @emulator_load_elements\(ptr %0, ptr %3, i64 4, i64 11, i32 0, i32 0\)",
        r"%\d+ = load <4 x float>, ptr %3, align 1",
    )


def test_a_masked_store_is_made_by_the_runtime() -> None:
    code = retargeted(
        nvidia(
            "  call void @llvm.masked.store.v4f32.p1(<4 x float> zeroinitializer, "
            f"ptr addrspace(1) %data, i32 4, {MASK})",
            before=MASKED,
        )
    )
    assert_in_order(
        code,
        r"store <4 x float> zeroinitializer, ptr %3, align 1",
        r"call void @emulator_store_elements\(ptr %0, ptr %3, i64 4, i64 11, i32 0, i32 0\)",
    )


def test_loads_and_stores_through_buffer_pointers_are_made_by_the_runtime() -> None:
    code = retargeted(
        amd(
            "  %buffer = call ptr addrspace(7) @llvm.amdgcn.make.buffer.rsrc.p7.p1.i32("
            "ptr addrspace(1) %data, i16 0, i32 64, i32 0)\n"
            "  %value = load <2 x float>, ptr addrspace(7) %buffer, align 8\n"
            "  %place = getelementptr i8, ptr addrspace(7) %buffer, i32 8\n"
            "  store <2 x float> %value, ptr addrspace(7) %place, align 8"
        ),
        "gfx942",
    )
    assert_in_order(
        code,
        r"call void @emulator_call_lane\(ptr @amdgcn_make_buffer_rsrc, ptr %2, ptr %3, i32 0\)",
        r"call void @buffer_load\(ptr %\d+, ptr %3, i64 8, i32 1\)",
        r"%\d+ = load <2 x float>, ptr %3, align 1",
        r"%\d+ = getelementptr i8, ptr %\d+, i32 8",
        r"store <2 x float> %\d+, ptr %3, align 1",
        r"call void @buffer_store\(ptr %\d+, ptr %3, i64 8, i32 2\)",
    )


def test_fences_prefetches_and_promises_are_dropped() -> None:
    code = retargeted(
        nvidia(
            '  fence syncscope("workgroup") release\n'
            '  call void @llvm.assume(i1 true) [ "align"(ptr addrspace(1) %data, i64 64) ]\n'
            "  call void @llvm.prefetch.p1(ptr addrspace(1) %data, i32 0, i32 3, i32 1)",
            before="declare void @llvm.assume(i1)\n"
            "declare void @llvm.prefetch.p1(ptr addrspace(1), i32, i32, i32)",
        )
    )
    reserved = ("alloca", "getelementptr i8, ptr %2")
    assert [line for line in lines_of(code) if not any(part in line for part in reserved)] == ["ret void"]

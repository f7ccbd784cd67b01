"""Stack memory, shared arrays, constant tables and address spaces after retargeting."""

import re

import pytest
from snippets import DATA, lines_of, nvidia, retargeted

from harness.emulator.retarget.retargeted import SharedArray
from harness.emulator.retarget.shared_arrays import RED_ZONE
from harness.errors import BuildError

LOOP = """
begin:
  br label %again

again:
  %i = phi i32 [ 0, %begin ], [ %next, %again ]
  %room = alloca [4 x float], align 4
  store [4 x float] zeroinitializer, ptr %room
  %next = add i32 %i, 1
  %is_done = icmp eq i32 %next, 10
  br i1 %is_done, label %end, label %again

end:
  ret void
"""


def test_stack_memory_is_reserved_once_and_aligned_for_every_vector() -> None:
    lines = lines_of(retargeted(nvidia(LOOP)))
    branch = lines.index(next(line for line in lines if line.startswith("br ")))
    reserved = [i for i, line in enumerate(lines) if "alloca [4 x float]" in line]
    assert len(reserved) == 1
    assert reserved[0] < branch
    assert lines[reserved[0]].endswith("align 64")


def test_stack_memory_of_varying_size_is_refused() -> None:
    with pytest.raises(BuildError, match="stack memory of varying size"):
        retargeted(nvidia("  %room = alloca float, i32 %count", arguments="i32 %count"))


ARRAYS = """
@small = internal addrspace(3) global [3 x half] undef, align 2
@large = internal addrspace(3) global [5 x [64 x float]] undef, align 16
"""


def test_shared_arrays_lie_apart_with_red_zones_around_them() -> None:
    (kernel,) = retargeted(nvidia("", before=ARRAYS)).kernels
    small, large = sorted(kernel.shared_arrays, key=lambda array: array.offset)
    assert (small.name, small.bytes, large.name, large.bytes) == ("small", 6, "large", 1280)
    assert small.offset >= RED_ZONE
    assert large.offset >= small.offset + small.bytes + RED_ZONE
    assert large.offset % 16 == 0
    assert kernel.dynamic_offset is None


def test_the_address_of_a_shared_array_is_its_place_in_the_region() -> None:
    code = retargeted(nvidia("  store half 1.0, ptr addrspace(3) @large", before=ARRAYS))
    (kernel,) = code.kernels
    offset = next(array.offset for array in kernel.shared_arrays if array.name == "large")
    place = f"getelementptr (i8, ptr @emulator_shared_memory_region, i64 {offset})"
    assert any(f"@emulator_store_address(ptr {place}, i64 2" in line for line in lines_of(code))
    assert "@large" not in code.llvm_ir


def test_the_array_that_the_launch_sizes_comes_last() -> None:
    dynamic = "@dynamic = external addrspace(3) global [0 x i8], align 16"
    (kernel,) = retargeted(nvidia("", before=f"{dynamic}\n{ARRAYS}")).kernels
    assert {array.name for array in kernel.shared_arrays} == {"small", "large"}
    end = max(array.offset + array.bytes for array in kernel.shared_arrays)
    assert kernel.dynamic_offset is not None
    assert kernel.dynamic_offset >= end + RED_ZONE


def test_a_constant_table_stays_and_is_known_by_name() -> None:
    table = (
        "@table = private unnamed_addr addrspace(4) constant [3 x float] [float 1.0, float 2.0, float 3.0]"
    )
    code = retargeted(nvidia("  %value = load float, ptr addrspace(4) @table", before=table))
    assert code.constants == {"table": 12}
    assert re.search(r"^@table = .*constant \[3 x float\]", code.llvm_ir, re.MULTILINE)


def test_a_global_variable_is_refused_by_name() -> None:
    with pytest.raises(BuildError, match="no model of the global variable counter"):
        retargeted(nvidia("", before="@counter = addrspace(1) global i32 0"))


def test_there_is_one_address_space() -> None:
    code = retargeted(
        nvidia(
            "  %generic = addrspacecast ptr addrspace(1) %data to ptr\n"
            "  %number = ptrtoint ptr %generic to i64\n"
            "  %back = inttoptr i64 %number to ptr addrspace(3)\n"
            "  %chosen = select i1 true, ptr addrspace(3) %back, ptr addrspace(3) null\n"
            "  store ptr addrspace(3) %chosen, ptr addrspace(1) %data",
            arguments=DATA,
        )
    )
    assert "addrspace" not in code.llvm_ir


def test_shared_arrays_are_those_of_the_kernel_description() -> None:
    (kernel,) = retargeted(nvidia("", before="@one = internal addrspace(3) global i32 undef")).kernels
    assert kernel.shared_arrays == (SharedArray("one", RED_ZONE, 4),)

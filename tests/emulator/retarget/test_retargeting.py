"""Device code after retargeting: calls, accesses, stack and shared memory, and what is known of kernels."""

import re

import pytest
from snippets import DATA, amd, lines_of, nvidia, retargeted

from harness.emulator.retarget.entries import RED_ZONE
from harness.emulator.retarget.retargeted import SharedArray
from harness.system.errors import BuildError

# ------------------------------------------------------------------ accesses


SIZES = {
    "i1": 1,
    "i8": 1,
    "half": 2,
    "bfloat": 2,
    "float": 4,
    "i64": 8,
    "ptr addrspace(3)": 8,
    "double": 8,
    "<3 x i1>": 1,
    "<9 x i1>": 2,
    "<3 x half>": 6,
    "<32 x float>": 128,
    "[3 x float]": 12,
    "[2 x [4 x half]]": 16,
    "[2 x <4 x half>]": 16,
    "[2 x ptr]": 16,
}


def test_the_size_of_an_access_is_the_type_s():
    loads = [f"  %value{i} = load {kind}, ptr addrspace(1) %data, align 1" for i, kind in enumerate(SIZES)]
    lines = lines_of(retargeted(nvidia("\n".join(loads))))
    asked = [
        re.search(r"@emulator_load_address\(ptr %0, i64 (\d+), i64 1, i32 (\d+)\)", line) for line in lines
    ]
    assert [tuple(map(int, call.groups())) for call in asked if call] == [
        (size, site) for site, size in enumerate(SIZES.values())
    ]


def test_fences_prefetches_and_promises_are_dropped():
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


# ------------------------------------------------------------------ calls


def test_models_that_a_kernel_calls_are_counted():
    name = "_Z21sub_group_shuffle_xorfj"
    text = (
        'target triple = "spir64-unknown-unknown"\n'
        f"declare float @{name}(float, i32)\n"
        "define spir_kernel void @kernel() {\n"
        f"  %one = call float @{name}(float 1.0, i32 8)\n"
        f"  %other = call float @{name}(float %one, i32 4)\n  ret void\n}}\n"
    )
    code = retargeted(text, "bmg")
    assert len(code.symbols) == 1
    assert code.intrinsics == {name: 2}


def test_functions_and_intrinsics_that_every_back_end_knows_stay():
    before = (
        "declare float @llvm.maximumnum.f32(float, float)\ndeclare float @llvm.exp2.f32(float)\n"
        "define internal float @twice(float %x) {\n  %y = fadd float %x, %x\n  ret float %y\n}"
    )
    code = retargeted(
        nvidia(
            "  %power = call float @llvm.exp2.f32(float 1.5)\n"
            "  %larger = call float @llvm.maximumnum.f32(float %power, float 0.5)\n"
            "  %twice = call float @twice(float %larger)\n  store float %twice, ptr addrspace(1) %data",
            before=before,
        )
    )
    called = [re.findall(r"@([\w.]+)\(", line)[0] for line in lines_of(code) if "call float" in line]
    assert called == ["llvm.exp2.f32", "llvm.maximumnum.f32", "twice"]
    assert code.symbols == ()
    assert [kernel.name for kernel in code.kernels] == ["kernel"]


PERMLANE = "call i32 @llvm.amdgcn.permlanex16.i32(i32 0, i32 1, i32 2, i32 3, i1 false, i1 false)"
DECLARED = {
    "globaltimer": "declare i64 @llvm.nvvm.read.ptx.sreg.globaltimer()",
    "vprintf": "declare void @vprintf()",
    "memset": "declare void @llvm.memset.p1.i64(ptr addrspace(1), i8, i64, i1)",
    "counter": "@counter = addrspace(1) global i32 0",
}
REFUSED = {
    "an intrinsic without a model": (
        "%time = call i64 @llvm.nvvm.read.ptx.sreg.globaltimer()",
        r"no model of llvm\.nvvm\.\S+\.globaltimer$",
    ),
    "an unknown function": ("call void @vprintf()", "no model of vprintf"),
    "unknown assembly": (
        'call void asm sideeffect "bar.sync 0;", ""()',
        r"no model of llvm\.inline_asm .*bar\.sync 0;",
    ),
    "guarded copies": (
        'call void asm sideeffect "@$0 cp.async.cg.shared.global [ $1 + 0 ], [ $2 + 0 ], 0x10;", "b,r,l"'
        "(i1 true, ptr addrspace(3) null, ptr addrspace(1) %data)",
        r"no model of llvm\.inline_asm",
    ),
    "a call through a pointer": ("call void %function()", "call through a pointer"),
    "an atomic load": (
        "%v = load atomic i32, ptr addrspace(1) %data monotonic, align 4",
        r"an atomic llvm\.load",
    ),
    "memset": (
        "call void @llvm.memset.p1.i64(ptr addrspace(1) %data, i8 0, i64 16, i1 false)",
        r"llvm\.intr\.memset",
    ),
    "a type of unknown size": (
        "%v = load { float, i32 }, ptr addrspace(1) %data",
        "the size of .*struct.* is not known",
    ),
    "stack memory of varying size": ("%room = alloca float, i32 %count", "stack memory of varying size"),
}


@pytest.mark.parametrize(("instruction", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_modelled_is_refused_by_name(instruction, message):
    before = "\n".join(text for name, text in DECLARED.items() if name in instruction)
    with pytest.raises(BuildError, match=message):
        retargeted(nvidia(f"  {instruction}", f"{DATA}, ptr %function, i32 %count", before))


def test_arguments_by_value_and_global_variables_are_refused():
    with pytest.raises(BuildError, match="passed by value"):
        retargeted(nvidia("", arguments="ptr byval([4 x i32]) align 4 %values"))
    with pytest.raises(BuildError, match="no model of the global variable counter"):
        retargeted(nvidia("", before=DECLARED["counter"]))


def test_an_intrinsic_of_another_generation_is_named():
    before = "declare i32 @llvm.amdgcn.permlanex16.i32(i32, i32, i32, i32, i1, i1)"
    retargeted(amd(f"  %other = {PERMLANE}", before=before), "gfx1100")
    with pytest.raises(BuildError, match=r"no model of llvm\.amdgcn\.permlanex16\.i32"):
        retargeted(amd(f"  %other = {PERMLANE}", before=before), "gfx942")


# ------------------------------------------------------------------ kernels


def test_the_size_of_each_argument_is_known():
    code = retargeted(nvidia("", arguments="ptr addrspace(1) %data, i16 %small, <2 x float> %pair"))
    assert [kernel.argument_bytes for kernel in code.kernels] == [(8, 2, 8)]


@pytest.mark.parametrize(
    ("kernel", "chip", "expected"),
    [
        ('ptx_kernel void @kernel() "nvvm.reqntid"="64,2,1"', "sm_80", (64, 2, 1)),
        ('ptx_kernel void @kernel() "nvvm.maxntid"="128"', "sm_80", (128, 1, 1)),
        ("ptx_kernel void @kernel()", "sm_80", None),
        ("amdgpu_kernel void @kernel() !reqd_work_group_size !0", "gfx1100", (32, 4, 1)),
    ],
)
def test_the_workgroup_s_size_is_known_where_the_code_says_it(kernel, chip, expected):
    (found,) = retargeted(
        f"define {kernel} {{\n  ret void\n}}\n!0 = !{{i32 32, i32 4, i32 1}}\n", chip
    ).kernels
    assert found.block == expected


def test_what_only_the_device_understands_is_gone():
    text = nvidia(
        "  %generic = addrspacecast ptr addrspace(1) %data to ptr\n"
        "  %number = ptrtoint ptr %generic to i64\n"
        "  %back = inttoptr i64 %number to ptr addrspace(3)\n"
        "  %chosen = select i1 true, ptr addrspace(3) %back, ptr addrspace(3) null\n"
        "  store ptr addrspace(3) %chosen, ptr addrspace(1) %data"
    ).replace("{\n", "local_unnamed_addr #0 {\n", 1)
    text += 'attributes #0 = { convergent nounwind "target-cpu"="sm_80" "target-features"="+ptx76" }\n'
    code = retargeted(text).llvm_ir
    assert "define void @kernel(ptr %0) {" in code
    assert not any(word in code for word in ("nvptx", "sm_80", "addrspace"))


# ------------------------------------------------------------------ stack and shared memory

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


def test_stack_memory_is_reserved_once_and_aligned_for_every_vector():
    lines = lines_of(retargeted(nvidia(LOOP)))
    branch = lines.index(next(line for line in lines if line.startswith("br ")))
    (reserved,) = [i for i, line in enumerate(lines) if "alloca [4 x float]" in line]
    assert reserved < branch
    assert lines[reserved].endswith("align 64")


ARRAYS = """
@small = internal addrspace(3) global [3 x half] undef, align 2
@large = internal addrspace(3) global [5 x [64 x float]] undef, align 16
"""


def test_shared_arrays_lie_apart_with_red_zones_around_them():
    code = retargeted(nvidia("  store half 1.0, ptr addrspace(3) @large", before=ARRAYS))
    (kernel,) = code.kernels
    small, large = sorted(kernel.shared_arrays, key=lambda array: array.offset)
    assert (small.name, small.bytes, large.name, large.bytes) == ("small", 6, "large", 1280)
    assert small.offset >= RED_ZONE
    assert large.offset >= small.offset + small.bytes + RED_ZONE
    assert large.offset % 16 == 0
    assert kernel.dynamic_offset is None
    place = f"getelementptr (i8, ptr @emulator_shared_memory_region, i64 {large.offset})"
    assert any(f"@emulator_store_address(ptr {place}, i64 2" in line for line in lines_of(code))
    assert "@large" not in code.llvm_ir


def test_the_array_that_the_launch_sizes_comes_last():
    dynamic = "@dynamic = external addrspace(3) global [0 x i8], align 16"
    (kernel,) = retargeted(nvidia("", before=f"{dynamic}\n{ARRAYS}")).kernels
    assert {array.name for array in kernel.shared_arrays} == {"small", "large"}
    end = max(array.offset + array.bytes for array in kernel.shared_arrays)
    assert kernel.dynamic_offset is not None
    assert kernel.dynamic_offset >= end + RED_ZONE
    (kernel,) = retargeted(nvidia("", before="@one = internal addrspace(3) global i32 undef")).kernels
    assert kernel.shared_arrays == (SharedArray("one", RED_ZONE, 4),)


def test_a_constant_table_stays_and_is_known_by_name():
    table = (
        "@table = private unnamed_addr addrspace(4) constant [3 x float] [float 1.0, float 2.0, float 3.0]"
    )
    code = retargeted(nvidia("  %value = load float, ptr addrspace(4) @table", before=table))
    assert code.constants == {"table": 12}
    assert re.search(r"^@table = .*constant \[3 x float\]", code.llvm_ir, re.MULTILINE)

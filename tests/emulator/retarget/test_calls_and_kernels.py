"""Calls of intrinsics and functions, and what is known of a kernel, after retargeting."""

import pytest
from snippets import amd, lines_of, nvidia, retargeted

from harness.errors import BuildError


def test_a_lane_model_gets_its_arguments_in_memory() -> None:
    before = "declare float @llvm.nvvm.fma.rn.f(float, float, float)"
    code = retargeted(
        nvidia(
            "  %sum = call float @llvm.nvvm.fma.rn.f(float 1.0, float 2.0, float 4.0)\n"
            "  store float %sum, ptr addrspace(1) %data",
            before=before,
        )
    )
    lines = lines_of(code)
    values = [line for line in lines if line.startswith("store float ")][:3]
    assert values == [
        "store float 1.000000e+00, ptr %2, align 1",
        "store float 2.000000e+00, ptr %4, align 1",
        "store float 4.000000e+00, ptr %5, align 1",
    ]
    slots = [line for line in lines if "getelementptr i8, ptr %2, i32" in line]
    assert slots[:2] == [f"%{3 + slot} = getelementptr i8, ptr %2, i32 {128 * slot}" for slot in (1, 2)]
    assert "call void @emulator_call_lane(ptr @nvvm_fma_rn_f, ptr %2, ptr %3, i32 0)" in lines
    assert code.symbols == ("nvvm_fma_rn_f",)
    assert code.intrinsics == {"llvm.nvvm.fma.rn.f": 1}


def test_a_collective_model_is_called_through_the_scheduler() -> None:
    code = retargeted(
        nvidia("  %other = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 5, i32 1, i32 31)")
    )
    call = "call void @emulator_call_collective(ptr @nvvm_shfl_sync_bfly, ptr %2, ptr %3, i32 0)"
    assert call in lines_of(code)


def test_an_aggregate_comes_back_through_memory() -> None:
    before = "declare { i32, i1 } @llvm.nvvm.shfl.sync.bfly.i32p(i32, i32, i32, i32)"
    code = retargeted(
        nvidia(
            "  %both = call { i32, i1 } @llvm.nvvm.shfl.sync.bfly.i32p(i32 -1, i32 5, i32 1, i32 31)\n"
            "  %other = extractvalue { i32, i1 } %both, 0",
            before=before,
        )
    )
    assert any("load { i32, i1 }, ptr %3, align 1" in line for line in lines_of(code))


def test_the_number_in_an_intrinsic_s_name_is_passed_to_its_model() -> None:
    name = "_Z21sub_group_shuffle_xorfj"
    text = (
        'target triple = "spir64-unknown-unknown"\n'
        f"declare float @{name}(float, i32)\n"
        "define spir_kernel void @kernel() {\n"
        f"  %other = call float @{name}(float 1.0, i32 8)\n  ret void\n}}\n"
    )
    stored = [line for line in lines_of(retargeted(text, "bmg")) if line.startswith("store i32")]
    assert [line.split(",")[0] for line in stored] == ["store i32 8", "store i32 4"]


def test_an_intrinsic_without_a_model_is_named() -> None:
    before = "declare i64 @llvm.nvvm.read.ptx.sreg.globaltimer()"
    with pytest.raises(BuildError, match=r"no model of llvm\.nvvm\.read\.ptx\.sreg\.globaltimer$"):
        retargeted(nvidia("  %time = call i64 @llvm.nvvm.read.ptx.sreg.globaltimer()", before=before))


def test_an_intrinsic_of_another_generation_is_named() -> None:
    before = "declare i32 @llvm.amdgcn.permlanex16.i32(i32, i32, i32, i32, i1, i1)"
    body = "  %other = call i32 @llvm.amdgcn.permlanex16.i32(i32 0, i32 1, i32 2, i32 3, i1 false, i1 false)"
    retargeted(amd(body, before=before), "gfx1100")
    with pytest.raises(BuildError, match=r"no model of llvm\.amdgcn\.permlanex16\.i32"):
        retargeted(amd(body, before=before), "gfx942")


def test_an_unknown_function_is_named() -> None:
    with pytest.raises(BuildError, match="no model of vprintf"):
        retargeted(nvidia("  call void @vprintf()", before="declare void @vprintf()"))


def test_inline_assembly_is_refused_with_its_text() -> None:
    with pytest.raises(BuildError, match=r"no model of llvm\.inline_asm .*bar\.sync 0;"):
        retargeted(nvidia('  call void asm sideeffect "bar.sync 0;", ""()'))


def test_a_call_through_a_pointer_is_refused() -> None:
    with pytest.raises(BuildError, match="call through a pointer"):
        retargeted(nvidia("  call void %function()", arguments="ptr %function"))


def test_intrinsics_that_every_back_end_knows_stay() -> None:
    before = "declare float @llvm.maximumnum.f32(float, float)\ndeclare float @llvm.exp2.f32(float)"
    code = retargeted(
        nvidia(
            "  %power = call float @llvm.exp2.f32(float 1.5)\n"
            "  %larger = call float @llvm.maximumnum.f32(float %power, float 0.5)\n"
            "  store float %larger, ptr addrspace(1) %data",
            before=before,
        )
    )
    calls = [line for line in lines_of(code) if "call float" in line]
    assert ["@llvm.exp2.f32" in calls[0], "@llvm.maximumnum.f32" in calls[1]] == [True, True]
    assert code.symbols == ()


def test_functions_of_the_module_are_called_as_they_are() -> None:
    helper = "define internal float @twice(float %x) {\n  %y = fadd float %x, %x\n  ret float %y\n}"
    code = retargeted(nvidia("  %y = call float @twice(float 1.0)", before=helper))
    assert any("call float @twice(float 1.0" in line for line in lines_of(code))
    assert [kernel.name for kernel in code.kernels] == ["kernel"]


def test_an_argument_by_value_is_refused() -> None:
    with pytest.raises(BuildError, match="passed by value"):
        retargeted(nvidia("", arguments="ptr byval([4 x i32]) align 4 %values"))


def test_the_entry_reads_each_argument_through_its_own_pointer() -> None:
    code = retargeted(nvidia("", arguments="ptr addrspace(1) %data, i16 %small, <2 x float> %pair"))
    (kernel,) = code.kernels
    assert kernel.argument_bytes == (8, 2, 8)
    entry = lines_of(code, kernel.entry)
    assert [line for line in entry if "load i16" in line or "load <2 x float>" in line]
    assert any(line.startswith("call void @kernel(ptr ") for line in entry)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ('"nvvm.reqntid"="64,2,1"', (64, 2, 1)),
        ('"nvvm.maxntid"="128"', (128, 1, 1)),
        ("", None),
    ],
)
def test_the_workgroup_s_size_is_known_where_the_code_says_it(
    attributes: str, expected: tuple[int, int, int] | None
) -> None:
    text = f"define ptx_kernel void @kernel() {attributes} {{\n  ret void\n}}\n"
    (kernel,) = retargeted(text).kernels
    assert kernel.block == expected


def test_amd_s_workgroup_size_is_known() -> None:
    text = (
        "define amdgpu_kernel void @kernel() !reqd_work_group_size !0 {\n  ret void\n}\n"
        "!0 = !{i32 32, i32 4, i32 1}\n"
    )
    (kernel,) = retargeted(text, "gfx1100").kernels
    assert kernel.block == (32, 4, 1)


def test_what_only_the_device_understands_is_gone() -> None:
    text = nvidia("").replace("{\n", "local_unnamed_addr #0 {\n", 1)
    text += 'attributes #0 = { convergent nounwind "target-cpu"="sm_80" "target-features"="+ptx76" }\n'
    code = retargeted(text)
    assert "define void @kernel(ptr %0) {" in code.llvm_ir
    assert "nvptx" not in code.llvm_ir
    assert "sm_80" not in code.llvm_ir

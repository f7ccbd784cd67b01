"""Figures of NVIDIA kernels: what PTX says, and what ptxas reports."""

import pytest

from harness.targets.cuda import nvdisasm, ptx, ptxas
from harness.targets.gpu.kernel_metrics import KernelMetrics, instructions
from harness.targets.gpu.launch import GpuKernel
from harness.targets.object_files import code_bytes

PTX = """
.version 8.0
.target sm_80
.address_size 64

.extern .shared .align 16 .b8 __dynamic_shared_memory__[];
.shared .align 16 .b8 tile[2048];
.shared .align 4 .b8 sums[64];

.visible .entry scores(
	.param .u64 .ptr .global .align 16 scores_param_0
)
.maxntid 128, 2, 1
{
	.reg .b32 	%r<9>;
	mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
		{%r1, %r2, %r3, %r4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%r1, %r2, %r3, %r4};
	mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
		{%r1, %r2, %r3, %r4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%r1, %r2, %r3, %r4};
	ret;
}

.visible .entry softmax(
	.param .u64 .ptr .global .align 16 softmax_param_0
)
{
	ret;
}
"""

REPORT = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'scores' for 'sm_80'
ptxas info    : Function properties for scores
    24 bytes stack frame, 24 bytes spill stores, 40 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 376 bytes cmem[0]
ptxas info    : Compiling entry function 'softmax' for 'sm_80'
ptxas info    : Function properties for softmax
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 30 registers, used 0 barriers, 368 bytes cmem[0]
"""

SMALL_KERNEL = b"""
.version 7.6
.target sm_80
.address_size 64
.visible .entry nothing()
{
	ret;
}
"""


def test_ptx_has_threads_static_arrays_and_matrix_instructions():
    assert ptx.kernel_metrics(PTX) == [
        KernelMetrics(shared_bytes=2112, workgroup_size=256),
        KernelMetrics(shared_bytes=2112),
    ]
    dynamic = PTX.replace("tile[2048]", "tile[]").replace("sums[64]", "sums[]")
    assert {kernel.shared_bytes for kernel in ptx.kernel_metrics(dynamic)} == {None}
    assert instructions(ptx.MATRIX_INSTRUCTION, [PTX]) == "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    assert instructions(ptx.MATRIX_INSTRUCTION, ["ret;"]) == "none"
    of_warpgroup = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"
    assert ptx.MATRIX_INSTRUCTION.findall(f"\t{of_warpgroup} {{%f1}}, %rd1, %rd2;") == [of_warpgroup]


def test_a_report_has_registers_and_spilled_registers():
    assert ptxas.kernel_metrics(REPORT) == [
        KernelMetrics(name="scores", registers=255, spills=6),
        KernelMetrics(name="softmax", registers=30, spills=0),
    ]


@pytest.mark.extra("cuda")
def test_the_assembler_makes_machine_code():
    assembled = ptxas.assemble(SMALL_KERNEL, "sm_80")
    assert [kernel.spills for kernel in assembled.kernels] == [0]
    assert code_bytes(assembled.cubin) > 0
    assert assembled.instructions["branch"] >= 1
    assert nvdisasm.disassembled(b"no machine code") is None
    assert ptxas.assemble(b"no PTX", "sm_80") is None


def test_a_directive_says_how_many_workgroups_of_a_kernel_there_are():
    told = ptx.with_residents(PTX, {"softmax": 3})
    heads = dict(ptx.ENTRY.findall(told))
    assert ".minnctapersm 3" in heads["softmax"]
    assert [name for name, head in heads.items() if "minnctapersm" in head] == ["softmax"]
    assert told.replace(".minnctapersm 3\n", "") == PTX


@pytest.mark.parametrize(("spills_when_told", "is_told"), [(0, True), (2, False), (9, False)])
def test_where_kernels_spill_the_assembler_is_told_how_many_workgroups_there_are(
    monkeypatch, spills_when_told, is_told
):
    """Here 4, for which there is shared memory, and not 5, for which there would be registers."""

    def machine_code(assembler: str, source: bytes, chip: str) -> ptxas.Assembled:
        spills = spills_when_told if b".minnctapersm 4\n" in source else 2
        kernels = [KernelMetrics(name="softmax", registers=96, spills=spills)]
        return ptxas.Assembled(source, b"cubin", kernels)

    monkeypatch.setattr(ptxas, "program", lambda name: name)
    monkeypatch.setattr(ptxas, "machine_code", machine_code)
    monkeypatch.setattr(ptxas, "disassembled", lambda cubin: None)
    kernel = GpuKernel(name="softmax", buffers=(), grid=1, threads=128, shared_bytes=38 * 1024)
    assembled = ptxas.assemble(PTX.encode(), "sm_80", [kernel])
    assert (b"minnctapersm" in assembled.ptx, assembled.spills) == (is_told, min(spills_when_told, 2))
    assert ptxas.assemble(PTX.encode(), "sm_80").spills == 2


DISASSEMBLY = """
	.text.attention:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P0 BRA `(.L_x_1) ;
        /*0020*/                   HMMA.16816.F32 R4, R8, R12, R4 ;
        /*0030*/              @P1  FFMA R4, R8, R12, R4 ;
        /*0040*/                   MUFU.EX2 R3, R3 ;
        /*0050*/              @UP0 UMOV UR4, 0x400 ;
        /*0060*/                   STL [R1], R26 ;
        /*0070*/                   LDGSTS.E.BYPASS.128 [R3], desc[UR4][R6.64] ;
        /*0080*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;
        /*0090*/                   HMMA.16816.F32 R4, R8, R14, R4 ;
        /*00a0*/                   NOP;
"""


def test_machine_instructions_are_counted_by_class():
    assert nvdisasm.counted(DISASSEMBLY) == {
        "matrix": 2,
        "special": 1,
        "float": 1,
        "local": 1,
        "copy": 1,
        "barrier": 1,
        "branch": 1,
        "constant": 1,
        "none": 1,
        "integer": 1,
    }
    assert nvdisasm.together([{"matrix": 1}, {"matrix": 2, "float": 3}]) == {"matrix": 3, "float": 3}
    assert nvdisasm.together([{"matrix": 1}, None]) == {}

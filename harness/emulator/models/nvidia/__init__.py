"""The models of NVIDIA's intrinsics (NVVM): what attention kernels use.

Intrinsics are named as LLVM 22, an older or a newer one (IREE's) spells them.  Overloads that only differ in
type share a C function.  What is not here is not modelled, and a kernel that calls it is refused: cluster
registers, mbarriers, bulk copies (TMA), wgmma and later matrix units, 8-bit types, arithmetic on 16 bits,
votes, matches and reductions of a warp.
"""

from collections.abc import Mapping

from harness.emulator.models.model import Model, Names, collective, lane

_NVVM = Names("llvm.nvvm.", "nvvm_")
_REGISTERS = Names("llvm.nvvm.read.ptx.sreg.", "nvvm_")

_OF_A_LANE = """
    reflect
    {add,mul}.rn{,.ftz}.f {fadd,fmul}{,.ftz}.f32 fma.rn{,.ftz}{,.sat}.f saturate{,.ftz}.f
    {ex2,lg2,rsqrt}.approx{,.ftz}.f {floor,ceil,trunc,round}{,.ftz}.f sqrt.f
    {f2f16,f2bf16,ff2f16x2,ff2bf16x2}.rn f2tf32.rna prmt
    cp.async.commit.group cp.async.wait.{group,all}
    barrier0 barrier.cta.sync.{all,count} barrier.cta.arrive.count
"""

_OF_A_LANE_NAMED_OTHERWISE = {
    "ex2.approx{,.ftz}.f32": "ex2_approx{,_ftz}_f",
    "rcp.rn{,.ftz}.f": "rcp{,_ftz}_f",
    "rcp.approx.ftz.f": "rcp_ftz_f",
    "div.{rn,approx}{,.ftz}.f": "div{,_ftz}_f",
    "div.full{,.ftz}": "div{,_ftz}_f",
    "sqrt.{rn,approx}.f": "sqrt_f",
    "sqrt.{rn,approx}.ftz.f": "sqrt_ftz_f",
    "f2h.rn": "f2f16_rn",
    "cp.async.ca.shared.global.{4,8,16}{,.s}": "cp_async_{4,8,16}{,_s}",
    "cp.async.cg.shared.global.16{,.s}": "cp_async_16{,_s}",
    # Names before LLVM 21
    "barrier.{n,sync}": "barrier_cta_sync_all",
    "barrier{,.sync.cnt}": "barrier_cta_sync_count",
    "barrier.cta.sync.aligned.{all,count}": "barrier_cta_sync_{all,count}",
    "barrier.cta.arrive.aligned.count": "barrier_cta_arrive_count",
}

_OF_A_WARP = {
    "shfl.sync.{up,down,bfly,idx}.i32{,p}": "shfl_sync_{up,down,bfly,idx}{,_p}",
    "shfl.sync.{up,down,bfly,idx}.f32{,p}": "shfl_sync_{up,down,bfly,idx}{,_p}",
    "mma.m16n8k{16,8}.row.col.f32.f32": "mma_m16n8k{16,8}_f16_f32",
    "mma.m16n8k{16,8}.row.col.f16.f16": "mma_m16n8k{16,8}_f16_f16",
    "mma.m16n8k{16,8}.row.col.bf16": "mma_m16n8k{16,8}_bf16",
    "mma.m16n8k{8,4}.row.col.tf32": "mma_m16n8k{8,4}_tf32",
    # By shared (p3) and generic (p0) addresses
    "ldmatrix.sync.aligned.m8n8.x{1,2,4}{,.trans}.b16.p3": "ldmatrix_x{1,2,4}{,_trans}",
    "ldmatrix.sync.aligned.m8n8.x{1,2,4}{,.trans}.b16.p0": "ldmatrix_x{1,2,4}{,_trans}",
}

_WITHOUT_EFFECT = "membar.{cta,gl,sys} prefetch{,.global}.{L1,L2}"
"""What orders memory or prefetches: lanes run in program order."""

MODELS: Mapping[str, Model] = {
    **_REGISTERS.own(lane, "{tid,ntid,ctaid,nctaid}.{x,y,z} warpsize laneid"),
    **_NVVM.own(lane, _OF_A_LANE),
    **_NVVM.others(lane, _OF_A_LANE_NAMED_OTHERWISE),
    **_NVVM.own(collective, "bar.warp.sync"),
    **_NVVM.others(collective, _OF_A_WARP),
    **_NVVM.without_effect(_WITHOUT_EFFECT),
    "__nvvm_reflect": lane("nvvm_reflect"),
}
"""The model of each intrinsic, by its name."""

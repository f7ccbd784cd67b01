"""The models of AMD's intrinsics (AMDGCN): what attention kernels use, from gfx90a to gfx12.

Each line names an intrinsic, as LLVM 22 or IREE's newer one spells it, and its C function.  Where an
intrinsic is overloaded, `_overloads` adds the suffixes of all types of the sizes that are modelled, and each
size has its own C function, whose name ends with the bits.  What is not here is not modelled, and a kernel
that calls it is refused: matrix instructions on 8-bit or sparse operands and in WMMA's 64-lane form,
structured buffers, atomic buffer operations, named barriers.
"""

from collections.abc import Callable, Mapping

from harness.emulator.models.model import Model, collective, lane, nothing

TYPES_BY_BITS = {
    8: ("i8",),
    16: ("i16", "f16", "bf16"),
    32: ("i32", "f32", "v2i16", "v2f16", "v2bf16"),
    64: ("i64", "f64", "v2i32", "v2f32", "v4i16", "v4f16", "v4bf16"),
    96: ("v3i32", "v3f32"),
    128: ("v4i32", "v4f32", "v2i64", "v2f64", "v8i16", "v8f16", "v8bf16"),
}
"""The suffixes of types in names of intrinsics, by their size."""

POINTER_TYPES = ("p0", "p1", "p3", "p4", "p5")
"""Pointers have 64 bits in the emulator, in all address spaces."""


def _overloads(name: str, model: Callable[[str], Model], symbol: str, *bits: int) -> dict[str, Model]:
    """Return the overloads of an intrinsic for types of these sizes."""
    return {f"{name}.{suffix}": model(f"{symbol}_b{size}") for size in bits for suffix in TYPES_BY_BITS[size]}


def _pointer_overloads(name: str, model: Callable[[str], Model], symbol: str) -> dict[str, Model]:
    return {f"{name}.{suffix}": model(f"{symbol}_b64") for suffix in POINTER_TYPES}


COMMON: Mapping[str, Model] = {
    # Which lane, workgroup and launch (identity.c)
    "llvm.amdgcn.workitem.id.x": lane("amdgcn_workitem_id_x"),
    "llvm.amdgcn.workitem.id.y": lane("amdgcn_workitem_id_y"),
    "llvm.amdgcn.workitem.id.z": lane("amdgcn_workitem_id_z"),
    "llvm.amdgcn.workgroup.id.x": lane("amdgcn_workgroup_id_x"),
    "llvm.amdgcn.workgroup.id.y": lane("amdgcn_workgroup_id_y"),
    "llvm.amdgcn.workgroup.id.z": lane("amdgcn_workgroup_id_z"),
    "llvm.amdgcn.wavefrontsize": lane("amdgcn_wavefrontsize"),
    "llvm.amdgcn.implicitarg.ptr": lane("amdgcn_implicitarg_ptr"),
    "llvm.amdgcn.mbcnt.lo": lane("amdgcn_mbcnt_lo"),
    "llvm.amdgcn.mbcnt.hi": lane("amdgcn_mbcnt_hi"),
    # Values of one lane, votes, reductions (lanes.c)
    **_overloads("llvm.amdgcn.readfirstlane", collective, "amdgcn_readfirstlane", 16, 32, 64, 128),
    **_pointer_overloads("llvm.amdgcn.readfirstlane", collective, "amdgcn_readfirstlane"),
    **_overloads("llvm.amdgcn.readlane", collective, "amdgcn_readlane", 16, 32, 64, 128),
    **_pointer_overloads("llvm.amdgcn.readlane", collective, "amdgcn_readlane"),
    **_overloads("llvm.amdgcn.writelane", collective, "amdgcn_writelane", 16, 32, 64),
    "llvm.amdgcn.ballot.i64": collective("amdgcn_ballot_b64"),
    "llvm.amdgcn.wave.reduce.add.i32": collective("amdgcn_wave_reduce_add"),
    "llvm.amdgcn.wave.reduce.min.i32": collective("amdgcn_wave_reduce_min"),
    "llvm.amdgcn.wave.reduce.max.i32": collective("amdgcn_wave_reduce_max"),
    "llvm.amdgcn.wave.reduce.umin.i32": collective("amdgcn_wave_reduce_umin"),
    "llvm.amdgcn.wave.reduce.umax.i32": collective("amdgcn_wave_reduce_umax"),
    "llvm.amdgcn.wave.reduce.fadd.f32": collective("amdgcn_wave_reduce_fadd"),
    "llvm.amdgcn.wave.reduce.fmin.f32": collective("amdgcn_wave_reduce_fmin"),
    "llvm.amdgcn.wave.reduce.fmax.f32": collective("amdgcn_wave_reduce_fmax"),
    # Permutations of lanes (permutations.c)
    "llvm.amdgcn.ds.swizzle": collective("amdgcn_ds_swizzle"),
    # Buffers (buffers.c)
    "llvm.amdgcn.make.buffer.rsrc.p7.p0": lane("amdgcn_make_buffer_rsrc"),
    "llvm.amdgcn.make.buffer.rsrc.p7.p1": lane("amdgcn_make_buffer_rsrc"),
    "llvm.amdgcn.make.buffer.rsrc.p8.p0": lane("amdgcn_make_buffer_rsrc"),
    "llvm.amdgcn.make.buffer.rsrc.p8.p1": lane("amdgcn_make_buffer_rsrc"),
    "llvm.amdgcn.make.buffer.rsrc.p7.p0.i32": lane("amdgcn_make_buffer_rsrc"),
    "llvm.amdgcn.make.buffer.rsrc.p7.p1.i32": lane("amdgcn_make_buffer_rsrc"),
    "llvm.amdgcn.make.buffer.rsrc.p8.p0.i32": lane("amdgcn_make_buffer_rsrc"),
    "llvm.amdgcn.make.buffer.rsrc.p8.p1.i32": lane("amdgcn_make_buffer_rsrc"),
    "llvm.amdgcn.make.buffer.rsrc.p7.p0.i64": lane("amdgcn_make_buffer_rsrc"),
    "llvm.amdgcn.make.buffer.rsrc.p7.p1.i64": lane("amdgcn_make_buffer_rsrc"),
    "llvm.amdgcn.make.buffer.rsrc.p8.p0.i64": lane("amdgcn_make_buffer_rsrc"),
    "llvm.amdgcn.make.buffer.rsrc.p8.p1.i64": lane("amdgcn_make_buffer_rsrc"),
    **_overloads(
        "llvm.amdgcn.raw.ptr.buffer.load", lane, "amdgcn_raw_ptr_buffer_load", 8, 16, 32, 64, 96, 128
    ),
    **_overloads(
        "llvm.amdgcn.raw.ptr.buffer.store", lane, "amdgcn_raw_ptr_buffer_store", 8, 16, 32, 64, 96, 128
    ),
    # Barriers (barriers.c)
    "llvm.amdgcn.s.barrier": lane("amdgcn_s_barrier"),
    # Arithmetic (arithmetic.c)
    "llvm.amdgcn.exp2.f16": lane("amdgcn_exp2_f16"),
    "llvm.amdgcn.exp2.f32": lane("amdgcn_exp2_f32"),
    "llvm.amdgcn.log.f16": lane("amdgcn_log_f16"),
    "llvm.amdgcn.log.f32": lane("amdgcn_log_f32"),
    "llvm.amdgcn.rcp.f16": lane("amdgcn_rcp_f16"),
    "llvm.amdgcn.rcp.f32": lane("amdgcn_rcp_f32"),
    "llvm.amdgcn.rsq.f16": lane("amdgcn_rsq_f16"),
    "llvm.amdgcn.rsq.f32": lane("amdgcn_rsq_f32"),
    "llvm.amdgcn.sqrt.f16": lane("amdgcn_sqrt_f16"),
    "llvm.amdgcn.sqrt.f32": lane("amdgcn_sqrt_f32"),
    "llvm.amdgcn.fract.f16": lane("amdgcn_fract_f16"),
    "llvm.amdgcn.fract.f32": lane("amdgcn_fract_f32"),
    "llvm.amdgcn.fmed3.f16": lane("amdgcn_fmed3_f16"),
    "llvm.amdgcn.fmed3.f32": lane("amdgcn_fmed3_f32"),
    "llvm.amdgcn.cvt.pkrtz": lane("amdgcn_cvt_pkrtz"),
    "llvm.amdgcn.perm": lane("amdgcn_perm"),
    "llvm.amdgcn.alignbyte": lane("amdgcn_alignbyte"),
    "llvm.amdgcn.ubfe.i32": lane("amdgcn_ubfe"),
    "llvm.amdgcn.sbfe.i32": lane("amdgcn_sbfe"),
    # The device library (device_library.c)
    "__ocml_exp_f32": lane("amdgcn_ocml_exp_f32"),
    "__ocml_exp2_f32": lane("amdgcn_ocml_exp2_f32"),
    "__ocml_log_f32": lane("amdgcn_ocml_log_f32"),
    "__ocml_log2_f32": lane("amdgcn_ocml_log2_f32"),
    "__ocml_tanh_f32": lane("amdgcn_ocml_tanh_f32"),
    "__ocml_rsqrt_f32": lane("amdgcn_ocml_rsqrt_f32"),
    "__ockl_get_local_size": lane("amdgcn_ockl_get_local_size"),
    "__ockl_get_num_groups": lane("amdgcn_ockl_get_num_groups"),
    # Hints, and waits for what has happened already
    "llvm.amdgcn.iglp.opt": nothing(),
    "llvm.amdgcn.s.nop": nothing(),
    "llvm.amdgcn.s.setprio": nothing(),
    "llvm.amdgcn.s.sleep": nothing(),
    "llvm.amdgcn.s.waitcnt": nothing(),
    "llvm.amdgcn.sched.barrier": nothing(),
    "llvm.amdgcn.sched.group.barrier": nothing(),
    "llvm.amdgcn.wave.barrier": nothing(),
}
"""What all generations have."""

GFX9: Mapping[str, Model] = {
    **COMMON,
    # Data parallel primitives (data_parallel_primitives.c)
    **_overloads("llvm.amdgcn.update.dpp", collective, "amdgcn_update_dpp_gfx9", 16, 32, 64),
    "llvm.amdgcn.mov.dpp.i32": collective("amdgcn_mov_dpp_gfx9_b32"),
    "llvm.amdgcn.mov.dpp.i64": collective("amdgcn_mov_dpp_gfx9_b64"),
    # Permutations of lanes (permutations.c)
    "llvm.amdgcn.ds.bpermute": collective("amdgcn_ds_bpermute_gfx9"),
    "llvm.amdgcn.ds.permute": collective("amdgcn_ds_permute_gfx9"),
    # Loads to LDS (local_data_share.c)
    "llvm.amdgcn.load.to.lds.p0": collective("amdgcn_load_to_lds"),
    "llvm.amdgcn.load.to.lds.p1": collective("amdgcn_load_to_lds"),
    "llvm.amdgcn.load.to.lds.p7": collective("amdgcn_load_to_lds_buffer"),
    "llvm.amdgcn.global.load.lds": collective("amdgcn_load_to_lds"),
    "llvm.amdgcn.raw.ptr.buffer.load.lds": collective("amdgcn_raw_ptr_buffer_load_lds"),
    # Matrix instructions (matrix_mfma.c)
    "llvm.amdgcn.mfma.f32.16x16x4f32": collective("amdgcn_mfma_f32_16x16x4_f32"),
    "llvm.amdgcn.mfma.f32.32x32x2f32": collective("amdgcn_mfma_f32_32x32x2_f32"),
    "llvm.amdgcn.mfma.f32.16x16x16f16": collective("amdgcn_mfma_f32_16x16x16_f16"),
    "llvm.amdgcn.mfma.f32.32x32x8f16": collective("amdgcn_mfma_f32_32x32x8_f16"),
    "llvm.amdgcn.mfma.f32.16x16x16bf16.1k": collective("amdgcn_mfma_f32_16x16x16_bf16"),
    "llvm.amdgcn.mfma.f32.32x32x8bf16.1k": collective("amdgcn_mfma_f32_32x32x8_bf16"),
}
"""What gfx90a, gfx942 and gfx950 have (CDNA 2 to 4)."""

GFX90A: Mapping[str, Model] = {
    **GFX9,
    # Matrix instructions that flush subnormal numbers (matrix_mfma.c)
    "llvm.amdgcn.mfma.f32.16x16x16f16": collective("amdgcn_mfma_gfx90a_f32_16x16x16_f16"),
    "llvm.amdgcn.mfma.f32.32x32x8f16": collective("amdgcn_mfma_gfx90a_f32_32x32x8_f16"),
    "llvm.amdgcn.mfma.f32.16x16x16bf16.1k": collective("amdgcn_mfma_gfx90a_f32_16x16x16_bf16"),
    "llvm.amdgcn.mfma.f32.32x32x8bf16.1k": collective("amdgcn_mfma_gfx90a_f32_32x32x8_bf16"),
    "llvm.amdgcn.mfma.f32.16x16x8bf16": collective("amdgcn_mfma_gfx90a_f32_16x16x8_bf16"),
    "llvm.amdgcn.mfma.f32.32x32x4bf16": collective("amdgcn_mfma_gfx90a_f32_32x32x4_bf16"),
}

GFX950: Mapping[str, Model] = {
    **GFX9,
    # Permutations of lanes (permutations.c)
    "llvm.amdgcn.permlane16.swap": collective("amdgcn_permlane16_swap"),
    "llvm.amdgcn.permlane32.swap": collective("amdgcn_permlane32_swap"),
    # Reads of LDS (local_data_share.c)
    "llvm.amdgcn.ds.read.tr16.b64.v4i16": collective("amdgcn_ds_read_tr16_b64"),
    "llvm.amdgcn.ds.read.tr16.b64.v4f16": collective("amdgcn_ds_read_tr16_b64"),
    "llvm.amdgcn.ds.read.tr16.b64.v4bf16": collective("amdgcn_ds_read_tr16_b64"),
    # Matrix instructions (matrix_mfma.c)
    "llvm.amdgcn.mfma.f32.16x16x32.f16": collective("amdgcn_mfma_f32_16x16x32_f16"),
    "llvm.amdgcn.mfma.f32.32x32x16.f16": collective("amdgcn_mfma_f32_32x32x16_f16"),
    "llvm.amdgcn.mfma.f32.16x16x32.bf16": collective("amdgcn_mfma_f32_16x16x32_bf16"),
    "llvm.amdgcn.mfma.f32.32x32x16.bf16": collective("amdgcn_mfma_f32_32x32x16_bf16"),
}

GFX10: Mapping[str, Model] = {
    **COMMON,
    # Votes of 32 lanes (lanes.c)
    "llvm.amdgcn.ballot.i32": collective("amdgcn_ballot_b32"),
    # Data parallel primitives (data_parallel_primitives.c)
    **_overloads("llvm.amdgcn.update.dpp", collective, "amdgcn_update_dpp_gfx10", 16, 32, 64),
    "llvm.amdgcn.mov.dpp.i32": collective("amdgcn_mov_dpp_gfx10_b32"),
    "llvm.amdgcn.mov.dpp.i64": collective("amdgcn_mov_dpp_gfx10_b64"),
    "llvm.amdgcn.mov.dpp8.i32": collective("amdgcn_mov_dpp8"),
    "llvm.amdgcn.mov.dpp8.f32": collective("amdgcn_mov_dpp8"),
    # Permutations of lanes (permutations.c)
    "llvm.amdgcn.ds.bpermute": collective("amdgcn_ds_bpermute_gfx10"),
    "llvm.amdgcn.ds.permute": collective("amdgcn_ds_permute_gfx10"),
    **_overloads("llvm.amdgcn.permlane16", collective, "amdgcn_permlane16", 16, 32, 64),
    **_overloads("llvm.amdgcn.permlanex16", collective, "amdgcn_permlanex16", 16, 32, 64),
}
"""What gfx10 and later have (RDNA)."""

GFX11: Mapping[str, Model] = {
    **GFX10,
    # Matrix instructions (matrix_wmma.c)
    "llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16": collective("amdgcn_wmma_gfx11_f32_f16"),
    "llvm.amdgcn.wmma.f32.16x16x16.bf16.v8f32.v16i16": collective("amdgcn_wmma_gfx11_f32_bf16"),
    "llvm.amdgcn.wmma.f16.16x16x16.f16.v16f16.v16f16": collective("amdgcn_wmma_gfx11_f16_f16"),
    "llvm.amdgcn.wmma.f16.16x16x16.f16.tied.v16f16.v16f16": collective("amdgcn_wmma_gfx11_f16_f16_tied"),
    "llvm.amdgcn.wmma.bf16.16x16x16.bf16.v16i16.v16i16": collective("amdgcn_wmma_gfx11_bf16_bf16"),
    "llvm.amdgcn.wmma.bf16.16x16x16.bf16.tied.v16i16.v16i16": collective("amdgcn_wmma_gfx11_bf16_bf16_tied"),
}

GFX12: Mapping[str, Model] = {
    **GFX10,
    # Barriers (barriers.c)
    "llvm.amdgcn.s.barrier.signal": lane("amdgcn_s_barrier_signal"),
    "llvm.amdgcn.s.barrier.wait": lane("amdgcn_s_barrier_wait"),
    "llvm.amdgcn.s.wait.dscnt": nothing(),
    "llvm.amdgcn.s.wait.kmcnt": nothing(),
    "llvm.amdgcn.s.wait.loadcnt": nothing(),
    "llvm.amdgcn.s.wait.storecnt": nothing(),
    # Matrix instructions (matrix_wmma.c)
    "llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16": collective("amdgcn_wmma_gfx12_f32_f16"),
    "llvm.amdgcn.wmma.f32.16x16x16.bf16.v8f32.v8i16": collective("amdgcn_wmma_gfx12_f32_bf16"),
    "llvm.amdgcn.wmma.f16.16x16x16.f16.v8f16.v8f16": collective("amdgcn_wmma_gfx12_f16_f16"),
    "llvm.amdgcn.wmma.bf16.16x16x16.bf16.v8i16.v8i16": collective("amdgcn_wmma_gfx12_bf16_bf16"),
}

GENERATIONS: Mapping[str, Mapping[str, Model]] = {
    "gfx90a": GFX90A,
    "gfx942": GFX9,
    "gfx950": GFX950,
    "gfx110": GFX11,
    "gfx115": GFX11,
    "gfx120": GFX12,
}
"""The models by the beginning of a chip's name; gfx117 and gfx125 have other matrix instructions."""


def models_for(chip: str) -> Mapping[str, Model]:
    """Return the models of a chip's intrinsics, by name."""
    for prefix, models in GENERATIONS.items():
        if chip.startswith(prefix):
            return models
    raise ValueError(f"no models for {chip!r}; there are some for chips named {', '.join(GENERATIONS)}…")

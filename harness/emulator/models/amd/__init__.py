"""The models of AMD's intrinsics (AMDGCN): what attention kernels use, from gfx90a to gfx12.

Intrinsics are named as LLVM 22 or IREE's newer one spells them.  Where an intrinsic is overloaded,
`_overloads` adds the suffixes of all types of the sizes that are modelled, and each size has its own C
function, whose name ends with the bits.  What is not here is not modelled, and a kernel that calls it is
refused: matrix instructions on 8-bit or sparse operands, of 16-bit accumulators, and in WMMA's 64-lane form,
structured buffers, atomic buffer operations, named barriers and reductions of a wave.
"""

from collections.abc import Callable, Mapping

from harness.emulator.models.model import Model, Names, collective, lane

_AMDGCN = Names("llvm.amdgcn.", "amdgcn_")

TYPES_BY_BITS = {
    8: "i8",
    16: "{i16,f16,bf16}",
    32: "{i32,f32,v2i16,v2f16,v2bf16}",
    64: "{i64,f64,v2i32,v2f32,v4i16,v4f16,v4bf16}",
    96: "{v3i32,v3f32}",
    128: "{v4i32,v4f32,v2i64,v2f64,v8i16,v8f16,v8bf16}",
}
"""The suffixes of types in names of intrinsics, by their size."""

POINTERS = "{p0,p1,p3,p4,p5}"
"""Pointers have 64 bits in the emulator, in all address spaces."""


def _overloads(
    name: str, make: Callable[[str], Model], *bits: int, generation: str = "", pointers: bool = False
) -> dict[str, Model]:
    """Return the overloads of an intrinsic for types of these sizes."""
    symbol = name.replace(".", "_") + generation
    symbols = {f"{name}.{TYPES_BY_BITS[size]}": f"{symbol}_b{size}" for size in bits}
    return _AMDGCN.others(make, symbols | ({f"{name}.{POINTERS}": f"{symbol}_b64"} if pointers else {}))


COMMON: Mapping[str, Model] = {
    **_AMDGCN.own(
        lane,
        """
        workitem.id.{x,y,z} workgroup.id.{x,y,z} wavefrontsize implicitarg.ptr mbcnt.{lo,hi}
        wave.id perm s.barrier
        {exp2,log,rcp,rsq,sqrt}.{f16,f32}
        """,
    ),
    **_AMDGCN.others(lane, {"make.buffer.rsrc.p{7,8}.p{0,1}{,.i32,.i64}": "make_buffer_rsrc"}),
    **Names("__", "amdgcn_").own(
        lane, "ocml_{exp,exp2,log,log2,tanh,rsqrt}_f32 ockl_get_{local_size,num_groups}"
    ),
    **_overloads("raw.ptr.buffer.load", lane, 8, 16, 32, 64, 96, 128),
    **_overloads("raw.ptr.buffer.store", lane, 8, 16, 32, 64, 96, 128),
    **_overloads("readfirstlane", collective, 16, 32, 64, 128, pointers=True),
    **_overloads("readlane", collective, 16, 32, 64, 128, pointers=True),
    **_AMDGCN.own(collective, "ds.swizzle ballot.{i32,i64}"),
    # Hints, and waits for what has happened already
    **_AMDGCN.without_effect("iglp.opt s.{nop,setprio,sleep,waitcnt} sched{,.group}.barrier wave.barrier"),
}
"""What all generations have."""

GFX9: Mapping[str, Model] = {
    **COMMON,
    **_overloads("update.dpp", collective, 16, 32, 64, generation="_gfx9"),
    **_AMDGCN.others(
        collective,
        {
            "ds.bpermute": "ds_bpermute_gfx9",
            "load.to.lds.{p0,p1}": "load_to_lds",
            "load.to.lds.p7": "load_to_lds_buffer",
            "global.load.lds": "load_to_lds",
            "raw.ptr.buffer.load.lds": "raw_ptr_buffer_load_lds",
            "mfma.f32.{16x16x4,32x32x2}f32": "mfma_f32_{16x16x4,32x32x2}_f32",
            "mfma.f32.{16x16x16,32x32x8}f16": "mfma_f32_{16x16x16,32x32x8}_f16",
            "mfma.f32.{16x16x16,32x32x8}bf16.1k": "mfma_f32_{16x16x16,32x32x8}_bf16",
        },
    ),
}
"""What gfx90a, gfx942 and gfx950 have (CDNA 2 to 4)."""

GFX90A: Mapping[str, Model] = {
    **GFX9,
    # Matrix instructions that flush subnormal numbers
    **_AMDGCN.others(
        collective,
        {
            "mfma.f32.{16x16x16,32x32x8}f16": "mfma_gfx90a_f32_{16x16x16,32x32x8}_f16",
            "mfma.f32.{16x16x16,32x32x8}bf16.1k": "mfma_gfx90a_f32_{16x16x16,32x32x8}_bf16",
            "mfma.f32.{16x16x8,32x32x4}bf16": "mfma_gfx90a_f32_{16x16x8,32x32x4}_bf16",
        },
    ),
}

GFX950: Mapping[str, Model] = {
    **GFX9,
    **_AMDGCN.own(collective, "permlane{16,32}.swap mfma.f32.{16x16x32,32x32x16}.{f16,bf16}"),
    **_AMDGCN.others(collective, {"ds.read.tr16.b64.{v4i16,v4f16,v4bf16}": "ds_read_tr16_b64"}),
}

GFX10: Mapping[str, Model] = {
    **COMMON,
    **_overloads("update.dpp", collective, 16, 32, 64, generation="_gfx10"),
    **_overloads("permlanex16", collective, 16, 32, 64),
    **_AMDGCN.others(collective, {"ds.bpermute": "ds_bpermute_gfx10"}),
}
"""What gfx10 and later have (RDNA)."""

GFX11: Mapping[str, Model] = {
    **GFX10,
    **_AMDGCN.others(
        collective,
        {
            "wmma.f32.16x16x16.f16.v8f32.v16f16": "wmma_gfx11_f32_f16",
            "wmma.f32.16x16x16.bf16.v8f32.v16i16": "wmma_gfx11_f32_bf16",
        },
    ),
}

GFX12: Mapping[str, Model] = {
    **GFX10,
    **_AMDGCN.own(lane, "s.barrier.{signal,wait}"),
    **_AMDGCN.others(
        collective,
        {
            "wmma.f32.16x16x16.f16.v8f32.v8f16": "wmma_gfx12_f32_f16",
            "wmma.f32.16x16x16.bf16.v8f32.v8i16": "wmma_gfx12_f32_bf16",
        },
    ),
    **_AMDGCN.without_effect("s.wait.{dscnt,kmcnt,loadcnt,storecnt}"),
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

"""Bugs planted into IREE's attention for AMD, for three generations of GPUs."""

from planted.bugs import planted_into
from planted.ir_edits import (
    dropped,
    each,
    moved_behind,
    replaced,
    swapped_operands,
    with_operand,
    without_rescale,
)

AMD_BARRIER = r"call void @llvm\.amdgcn\.s\.barrier\(\)"
SIGNAL = r"call void @llvm\.amdgcn\.s\.barrier\.signal"
WAIT = r"call void @llvm\.amdgcn\.s\.barrier\.wait"
MFMA = r"@llvm\.amdgcn\.mfma\.f32\.16x16x16f16"
WMMA = r"@llvm\.amdgcn\.wmma\.f32\.16x16x16"
DPP = r"@llvm\.amdgcn\.update\.dpp"
RESOURCE = r"@llvm\.amdgcn\.make\.buffer\.rsrc"

gfx942, gfx1100, gfx1201 = map(planted_into, ("gfx942", "gfx1100", "gfx1201"))

GFX942 = (
    gfx942(
        "no barrier after Q is in shared memory",
        dropped(AMD_BARRIER, 0, 3),
        "order race uninitialized values",
    ),
    gfx942("no barrier before K and V are overwritten", dropped(AMD_BARRIER, 1, 3), "order race values"),
    gfx942(
        "no barrier after K and V are in shared memory",
        dropped(AMD_BARRIER, 2, 3),
        "race uninitialized values",
    ),
    gfx942(
        "bpermute by lane number, not by byte address",
        replaced(r"shl nuw nsw i32 (%63), 2", r"shl nuw nsw i32 \1, 0"),
        "values",
    ),
    gfx942(
        "bpermute from 16 lanes on, not from 32", replaced(r"xor i32 (%64), 128", r"xor i32 \1, 64"), "values"
    ),
    gfx942(
        "swizzle between lanes 8 apart, not 16",
        with_operand(r"@llvm\.amdgcn\.ds\.swizzle", 1, "i32 8223", 0, 2),
        "values",
    ),
    gfx942("A and B swapped in a matrix product of Q and K", swapped_operands(MFMA, 0, 1, 3, 32), "values"),
    gfx942("A and B swapped in a matrix product of P and V", swapped_operands(MFMA, 0, 1, 20, 32), "values"),
    gfx942(
        "the other half of a fragment of K",
        replaced(
            r"(%167, <8 x half> poison, <4 x i32>) <i32 0, i32 1, i32 2, i32 3>",
            r"\1 <i32 4, i32 5, i32 6, i32 7>",
        ),
        "values",
    ),
    gfx942("half of K's buffer declared", with_operand(RESOURCE, 2, "i32 8192", 1, 4), "clamped values"),
    gfx942(
        "twice of V's buffer declared, read from past its end",
        each(
            with_operand(RESOURCE, 2, "i32 32768", 2, 4),
            replaced(
                r"(getelementptr \[2 x i8\], ptr addrspace\(7\) %8, i32 %160)",
                r"getelementptr [2 x i8], ptr addrspace(7) %8, i32 8192",
                0,
                1,
            ),
        ),
        "out-of-bounds values",
    ),
    gfx942(
        "the output written over K",
        with_operand(RESOURCE, 0, "ptr addrspace(1) nonnull %1", 3, 4),
        "read-only values",
    ),
    gfx942(
        "pitch 136 bytes for 128 where Q is read",
        replaced(r"(%\.idx43 = mul nuw nsw i32 %27), 136", r"\1, 128"),
        "uninitialized values",
    ),
    gfx942("an accumulator that is not rescaled", without_rescale("4 x float", 2, 4), "values"),
    gfx942(
        "half of Q that is not scaled",
        replaced(
            r"fmul <8 x half> (%\d+), splat \(half 1.802980e-01\)",
            r"fmul <8 x half> \1, splat (half 1.0)",
            1,
            2,
        ),
        "values",
    ),
)

GFX1100 = (
    gfx1100(
        "no barrier after Q is in shared memory",
        dropped(AMD_BARRIER, 0, 4),
        "order race replication uninitialized values",
    ),
    gfx1100("no barrier before K and V are overwritten", dropped(AMD_BARRIER, 1, 4), "order race values"),
    gfx1100(
        "no barrier after K and V are in shared memory",
        dropped(AMD_BARRIER, 2, 4),
        "race replication uninitialized values",
    ),
    gfx1100(
        "no barrier after P is in shared memory",
        dropped(AMD_BARRIER, 3, 4),
        "order replication uninitialized values",
    ),
    gfx1100("quad_perm 2 3 0 1 for 1 0 3 2", with_operand(DPP, 2, "i32 78", 0, 64), "values"),
    gfx1100("row_mirror for row_half_mirror", with_operand(DPP, 2, "i32 320", 34, 64), "values"),
    gfx1100("A and B swapped in a matrix product", swapped_operands(WMMA, 0, 1, 3, 32), "values"),
    gfx1100(
        "rows of K for lanes 16 to 31 that are not those of lanes 0 to 15",
        replaced(r"(%\.idx33 = mul nuw nsw i32) %28, 136", r"%planted = and i32 %5, 31\n  \1 %planted, 136"),
        "replication",
    ),
)

GFX1201 = (
    gfx1201(
        "no barrier before K and V are overwritten",
        each(dropped(SIGNAL, 1, 3), dropped(WAIT, 1, 3)),
        "order race values",
    ),
    gfx1201(
        "no wait after K and V are in shared memory",
        dropped(WAIT, 2, 3),
        "divergent-barrier race uninitialized values",
    ),
    gfx1201("no signal after Q is in shared memory", dropped(SIGNAL, 0, 3), "deadlock race"),
    gfx1201(
        "the last part of V stored after the signal", moved_behind(r"store <8 x half> %271", SIGNAL), "race"
    ),
    gfx1201("A and B swapped in a matrix product", swapped_operands(WMMA, 0, 1, 3, 32), "values"),
    gfx1201(
        "permlanex16 with the lanes of each quad reversed",
        with_operand(r"@llvm\.amdgcn\.permlanex16", 2, "i32 1164413185", 0, 2),
        "values",
    ),
    gfx1201(
        "fragments of eight columns that overlap",
        replaced(r"(%36 = or disjoint i32 %32), 16", r"\1, 20"),
        "order values",
    ),
    gfx1201("an accumulator that is not rescaled", without_rescale("8 x float", 0, 4), "values"),
)

BUGS = (*GFX942, *GFX1100, *GFX1201)

"""Bugs planted into the attention kernels that this harness generates for AMD."""

from planted.bugs import planted_into
from planted.ir_edits import dropped, each, replaced, swapped_operands, with_operand

BARRIER = r"call void @llvm\.amdgcn\.s\.barrier\(\)"
SIGNAL = r"call void @llvm\.amdgcn\.s\.barrier\.signal"
WAIT = r"call void @llvm\.amdgcn\.s\.barrier\.wait"
MFMA = r"@llvm\.amdgcn\.mfma\.f32\.32x32x8f16"
DEEP_MFMA = r"@llvm\.amdgcn\.mfma\.f32\.32x32x16\.f16"
WMMA = r"@llvm\.amdgcn\.wmma\.f32\.16x16x16"
BPERMUTE = r"@llvm\.amdgcn\.ds\.bpermute"
SWIZZLE = r"@llvm\.amdgcn\.ds\.swizzle"
ROW_EXCHANGE = r"@llvm\.amdgcn\.permlanex16"
NEXT_TILE = r"select i1 %\d+, i64 (%\d+), i64 (%\d+)$"
SLOT = r"select i1 (%\d+), i64 4352, i64 0"
"""Where the tile of an iteration begins."""

flash = planted_into("flash by MFMA")
ragged = planted_into("flash by MFMA of lengths that no tile divides")
two_slots = planted_into("flash by MFMA in two slots")
wide_rows = planted_into("flash by MFMA of wide rows")
deep, replicated, halved, unfused = map(
    planted_into, ("flash by deep MFMA", "flash by replicated WMMA", "flash by WMMA", "unfused by MFMA")
)

WAITS = (
    flash("no barrier after Q is in LDS", dropped(BARRIER, 0, 9), "order uninitialized values"),
    flash("no barrier before K and V are put over Q", dropped(BARRIER, 1, 9), "order race values"),
    flash("no barrier before the waves read K and V", dropped(BARRIER, 2, 9), "order race values"),
    flash("no barrier before the next K and V are stored", dropped(BARRIER, 3, 9), "order race values"),
    flash(
        "no barrier before the waves read K and V that a mask cuts",
        dropped(BARRIER, 5, 9),
        "order race values",
    ),
    two_slots("no barrier before the slots change", dropped(BARRIER, 2, 7), "race uninitialized values"),
    halved(
        "no wait after Q is in LDS",
        dropped(WAIT, 0, 7),
        "divergent-barrier divergent-collective inactive-source order race uninitialized values",
    ),
    halved(
        "no wait before the waves read K and V",
        dropped(WAIT, 2, 7),
        "divergent-barrier order race uninitialized values",
    ),
    halved("no signal before the next K and V are stored", dropped(SIGNAL, 3, 7), "order race values"),
    replicated(
        "no barrier before the waves read K and V",
        dropped(BARRIER, 2, 9),
        "order race replication uninitialized values",
    ),
)

TILES_IN_LDS = (
    flash(
        "rows of K are read as if they had no padding",
        replaced(r"mul nuw nsw i64 (%17), 68", r"mul nuw nsw i64 \1, 64"),
        "uninitialized values",
    ),
    flash(
        "rows are stored as if they had no padding, and overlap",
        replaced(r"mul nuw nsw i64 (%20), 68", r"mul nuw nsw i64 \1, 60"),
        "order uninitialized values",
    ),
    flash(
        "a column of V is stored one key too far",
        replaced(r"(getelementptr i8, ptr addrspace\(3\) %221, i32) 136", r"\1 138"),
        "unaligned values",
    ),
    flash(
        "two keys of a block of V are exchanged where it is transposed",
        replaced("<i32 0, i32 1, i32 poison, i32 poison>", "<i32 1, i32 0, i32 poison, i32 poison>", 4, 16),
        "values",
    ),
    flash(
        "the run of K of the other half of a wave",
        replaced(r"(%165 = trunc nuw nsw i64) %30 to", r"\1 %29 to"),
        "values",
    ),
    flash("the next tile is this one again", replaced(NEXT_TILE, r"add i64 \2, 0", 0, 2), "values"),
    flash(
        "a tile behind the last one is loaded", replaced(NEXT_TILE, r"add i64 \1, 0", 1, 2), "out-of-bounds"
    ),
    flash("a part of K stays that of the last tile", dropped(r"store <8 x half> %237", 0, 1), "values"),
    two_slots(
        "the tile of the other slot is read",
        replaced(SLOT, r"select i1 \1, i64 0, i64 4352", 0, 2),
        "race uninitialized values",
    ),
    two_slots("the slots never change", replaced(SLOT, "add i64 0, 0", 0, 2), "order race values"),
    wide_rows(
        "the second half of a row of K is stored over the first",
        replaced(r"(%120 = getelementptr i8, ptr addrspace\(3\) %119, i32) 128", r"\1 0"),
        "values",
    ),
    wide_rows(
        "rows of K and Q are stored as if they had no padding",
        replaced(r"mul nuw nsw i64 (%13), 132", r"mul nuw nsw i64 \1, 128"),
        "uninitialized values",
    ),
    deep(
        "rows of K are read as if they had no padding",
        replaced(r"mul nuw nsw i64 (%15), 36", r"mul nuw nsw i64 \1, 32"),
        "uninitialized values",
    ),
    halved(
        "a column of V is stored one key too far",
        replaced(r"(getelementptr i8, ptr addrspace\(3\) %\d+, i32) 136", r"\1 138", 0, 4),
        "unaligned uninitialized values",
    ),
)

FRAGMENTS = (
    flash("Q and K exchanged in a product", swapped_operands(MFMA, 0, 1, 3, 64), "values"),
    flash("the accumulator is not transposed in P·V", swapped_operands(MFMA, 0, 1, 20, 64), "values"),
    flash("a product begins anew", with_operand(MFMA, 2, "<16 x float> zeroinitializer", 5, 64), "values"),
    flash(
        "a run of P is that of its neighbour",
        replaced("<i32 4, i32 5, i32 6, i32 7>$", "<i32 8, i32 9, i32 10, i32 11>", 0, 6),
        "values",
    ),
    deep("Q and K exchanged in a product", swapped_operands(DEEP_MFMA, 0, 1, 1, 16), "values"),
    deep("P and V exchanged in a product", swapped_operands(DEEP_MFMA, 0, 1, 5, 16), "values"),
    replicated(
        "the upper half of a wave holds rows of its own",
        replaced(r"and i64 (%10), 15$", r"and i64 \1, 31"),
        "race replication shared-out-of-bounds uninitialized values",
    ),
    replicated("Q and K exchanged in a product", swapped_operands(WMMA, 0, 1, 1, 32), "values"),
    replicated(
        "both halves of P come from the lower half of the wave",
        replaced(r"bpermute\(i32 %169,", "bpermute(i32 %168,", 0, 16),
        "values",
    ),
    replicated(
        "rows of P come from lanes four apart",
        replaced(r"and i32 (%\d+), 60$", r"and i32 \1, 44", 0, 2),
        "values",
    ),
    halved(
        "both halves of a wave hold the same keys",
        replaced(r"and i64 (%20), 8", r"and i64 \1, 0"),
        "order values",
    ),
    halved("P and V exchanged in a product", swapped_operands(WMMA, 0, 1, 9, 32), "values"),
)

ROWS = (
    flash(
        "the maximum of lanes 16 apart, not 32",
        replaced(r"xor i32 (%\d+), 128", r"xor i32 \1, 64", 0, 2),
        "values",
    ),
    flash(
        "bpermute by lane number, not by byte address",
        replaced(r"shl nuw nsw i32 (%\d+), 2", r"shl nuw nsw i32 \1, 0", 0, 2),
        "values",
    ),
    flash("all rows have the sum of lane 0", with_operand(BPERMUTE, 0, "i32 0", 2, 3), "values"),
    flash(
        "an accumulator that is not rescaled",
        replaced(r"fmul (<16 x float>) (%228), %\d+", r"fadd \1 \2, zeroinitializer"),
        "values",
    ),
    flash(
        "a row's sum that is not rescaled",
        replaced(r"fmul float (%\d+), %\d+$", r"fadd float \1, 0.0", 0, 2),
        "values",
    ),
    flash(
        "two of a row's probabilities are left out of its sum",
        replaced(r"fadd <2 x float> (%482), %480$", r"fadd <2 x float> \1, zeroinitializer"),
        "values",
    ),
    flash(
        "every second of a row's probabilities is left out of its sum",
        replaced(r"fadd <2 x float> (%483), %shift$", r"fadd <2 x float> \1, zeroinitializer"),
        "values",
    ),
    flash(
        "scores that are not scaled in the exponent",
        replaced(
            r"@llvm\.fma\.v16f32\((<16 x float> %\d+), <16 x float> splat \(float 0x3FC7154760000000\)",
            r"@llvm.fma.v16f32(\1, <16 x float> splat (float 1.0)",
            0,
            4,
        ),
        "values",
    ),
    deep(
        "the maximum of a lane's own half",
        replaced(r"select i1 (%\d+), i32 (%\d+), i32 (%\d+)", r"select i1 \1, i32 \3, i32 \2", 0, 4),
        "values",
    ),
    replicated(
        "permlanex16 with the lanes of each quad reversed",
        with_operand(ROW_EXCHANGE, 2, "i32 1164413185", 0, 3),
        "values",
    ),
    halved(
        "permlanex16 of the first lane for all of a row",
        each(with_operand(ROW_EXCHANGE, 2, "i32 0", 0, 3), with_operand(ROW_EXCHANGE, 3, "i32 0", 0, 3)),
        "values",
    ),
)

BOUNDS = (
    flash(
        "the mask hides the diagonal",
        replaced(r"icmp slt (<16 x i32> %\d+, %\d+)", r"icmp sle \1", 0, 2),
        "values",
    ),
    flash(
        "the output written over Q",
        replaced(
            r"getelementptr half, ptr addrspace\(1\) %8,", "getelementptr half, ptr addrspace(1) %7,", 0, 4
        ),
        "read-only values",
    ),
    ragged(
        "rows of Q behind the last one are read",
        replaced(r"icmp samesign ult i64 (%\d+), 100", r"icmp samesign ult i64 \1, 128", 3, 4),
        "out-of-bounds",
    ),
    ragged(
        "rows of the output behind the last one are written",
        replaced(r"br i1 %68, (label %\d+), label %\d+", r"br \1", 1, 2),
        "out-of-bounds",
    ),
    ragged(
        "keys that the last tile repeats count twice",
        replaced(
            r"select <16 x i1> (%43), (<16 x float> %\d+), <16 x float> .*$", r"fadd \2, zeroinitializer"
        ),
        "values",
    ),
    ragged(
        "one key too few of the last tile",
        replaced(r"(icmp ult <16 x i32> %\d+, splat \(i32) 22\)", r"\1 21)"),
        "values",
    ),
    unfused(
        "rows of Q behind the last one are read",
        replaced(r"icmp samesign ult i64 (%\d+), 100", r"icmp samesign ult i64 \1, 128", 3, 5),
        "out-of-bounds",
    ),
    unfused(
        "scores stored 64 bytes too far",
        replaced(
            r"(store <4 x half> %\d+, ptr addrspace\(1\)) (%\w+), align 4",
            r"%far = getelementptr i8, ptr addrspace(1) \2, i64 64\n  \1 %far, align 4",
            0,
            8,
        ),
        "values",
    ),
    unfused("swizzle distance 4 for 1 in a row's sum", with_operand(SWIZZLE, 1, "i32 4127", 0, 12), "values"),
)

BUGS = (*WAITS, *TILES_IN_LDS, *FRAGMENTS, *ROWS, *BOUNDS)

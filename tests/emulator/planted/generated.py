"""Bugs planted into the attention kernels that this harness generates for NVIDIA."""

from planted.bugs import planted_into
from planted.ir_edits import dropped, each, replaced, swapped_operands, with_operand

BARRIER = r"call void @llvm\.nvvm\.barrier\.cta\.sync\.aligned\.all"
WAIT = r"call void @llvm\.nvvm\.cp\.async\.wait\.group"
COPY = r"call void @llvm\.nvvm\.cp\.async\.cg\.shared\.global\.16"
PART_OF_COPY = COPY + r"\.s"
SHUFFLE = r"call float @llvm\.nvvm\.shfl\.sync\.bfly"
MMA = r"@llvm\.nvvm\.mma\.m16n8k16"
SLOT = r"select i1 (%\d+), i64 4608, i64 0"
"""Where the tile of an iteration begins."""

flash, naive, unfused = map(planted_into, ("flash", "naive", "unfused"))
few_queries, single_precision = map(planted_into, ("flash of 10 queries", "flash in f32"))

BUGS = (
    flash("no barrier after Q is in shared memory", dropped(BARRIER, 0, 7), "race", within_warps=True),
    flash(
        "no barrier before the warps read K and V", dropped(BARRIER, 2, 7), "order race uninitialized values"
    ),
    flash(
        "no barrier between the loops, which share their memory", dropped(BARRIER, 3, 7), "order race values"
    ),
    flash(
        "no barrier before the warps read K and V that a mask cuts",
        dropped(BARRIER, 4, 7),
        "order race uninitialized values",
    ),
    flash("Q is not waited for", dropped(WAIT, 0, 3), "in-flight values"),
    flash("K and V are not waited for", dropped(WAIT, 1, 3), "in-flight values"),
    flash(
        "K and V that a mask cuts are not waited for", dropped(WAIT, 2, 3), "in-flight pending-copy values"
    ),
    flash(
        "all copies of an iteration may be under way when it begins",
        with_operand(WAIT, 0, "i32 1", 1, 3),
        "in-flight race values",
    ),
    flash(
        "the tile of the other slot is read",
        replaced(SLOT, r"select i1 \1, i64 0, i64 4608", 0, 2),
        "in-flight race uninitialized values",
    ),
    flash(
        "the slots never change", replaced(SLOT, r"select i1 \1, i64 0, i64 0", 0, 2), "in-flight race values"
    ),
    flash("a copy of K is left out", dropped(COPY, 6, 36), "uninitialized values"),
    flash(
        "K copied from further behind",
        replaced(
            r"getelementptr half, ptr %1, i64 (%\S+)", r"getelementptr [16 x half], ptr %1, i64 \1", 1, 16
        ),
        "out-of-bounds values",
    ),
    flash(
        "Q copied past the end of shared memory",
        replaced(
            r"getelementptr half, (ptr addrspace\(3\) @shared), (i64 %\d+)$",
            r"getelementptr half, ptr addrspace(3) getelementptr (i8, \1, i64 36800), \2",
            0,
            13,
        ),
        "shared-out-of-bounds uninitialized values",
    ),
    flash("no barrier before the output is put over K and V", dropped(BARRIER, 5, 7), "order race values"),
    flash(
        "no barrier before lanes take other parts of the output",
        dropped(BARRIER, 6, 7),
        "order race values",
        within_warps=True,
    ),
    flash(
        "a part of the output is put where its neighbour lies",
        replaced(
            r"store (<2 x half> %\d+), ptr addrspace\(3\) (%\d+), align 4",
            r"%near = getelementptr i8, ptr addrspace(3) \2, i64 16\n"
            r"  store \1, ptr addrspace(3) %near, align 4",
            2,
            16,
        ),
        "values",
    ),
    flash(
        "the output written over Q",
        replaced(r"getelementptr half, ptr %3,", "getelementptr half, ptr %0,", 0, 4),
        "read-only values",
    ),
    flash(
        "the mask hides the diagonal",
        replaced(r"icmp slt (<4 x i32> %\d+, %\d+)", r"icmp sle \1", 0, 8),
        "values",
    ),
    flash("shuffle distance 4 for 1 in a row's maximum", with_operand(SHUFFLE, 2, "i32 4", 0, 12), "values"),
    flash("shuffle distance 1 for 2 in a row's sum", with_operand(SHUFFLE, 2, "i32 1", 9, 12), "values"),
    flash(
        "member mask of the lower 16 lanes",
        with_operand(SHUFFLE, 0, "i32 65535", 0, 12),
        "inactive-source member-mask values",
    ),
    flash(
        "registers 0 and 1 of A swapped in a matrix product", swapped_operands(MMA, 0, 1, 5, 128), "values"
    ),
    flash("registers of B swapped in a matrix product", swapped_operands(MMA, 4, 5, 5, 128), "values"),
    flash("elements of an accumulator swapped", swapped_operands(MMA, 6, 7, 40, 128), "values"),
    flash("V is not transposed where it is loaded", replaced(r"x4\.trans\.b16", "x4.b16", 0, 32), "values"),
    flash(
        "an accumulator that is not rescaled",
        replaced(r"fmul (<4 x float>) (%\d+), %\d+", r"fadd \1 \2, zeroinitializer", 0, 16),
        "values",
    ),
    flash(
        "a row's sum that is not rescaled",
        replaced(r"fmul (<2 x float>) (%\d+), %\d+", r"fadd \1 \2, zeroinitializer", 0, 2),
        "values",
    ),
    flash(
        "scores that are not scaled in the exponent",
        replaced(
            r"@llvm\.fma\.v4f32\((<4 x float> %\d+), <4 x float> splat \(float 0x3FC7154760000000\)",
            r"@llvm.fma.v4f32(\1, <4 x float> splat (float 1.0)",
            0,
            16,
        ),
        "values",
    ),
    naive(
        "no barrier before the loop for the maximum fills memory again",
        dropped(BARRIER, 2, 9),
        "in-flight race values",
    ),
    naive(
        "no barrier before the loop for the sum", dropped(BARRIER, 4, 9), "order race uninitialized values"
    ),
    naive("K is not waited for in the loop for the maximum", dropped(WAIT, 2, 4), "in-flight values"),
    naive(
        "the tile of the other slot in the loop for the sum",
        replaced(SLOT, r"select i1 \1, i64 0, i64 4608", 2, 3),
        "values",
    ),
    naive("shuffle distance 4 for 2 in a row's maximum", with_operand(SHUFFLE, 2, "i32 4", 1, 8), "values"),
    unfused("no barrier after Q is in shared memory", dropped(BARRIER, 0, 8), "race", within_warps=True),
    unfused("no barrier before the warps read K", dropped(BARRIER, 2, 8), "in-flight order race values"),
    unfused(
        "no barrier before lanes take other parts of the scores",
        dropped(BARRIER, 4, 8),
        "order race uninitialized values",
        within_warps=True,
    ),
    unfused(
        "no barrier before the warps read P and V", dropped(BARRIER, 5, 8), "order race uninitialized values"
    ),
    unfused("P and V are not waited for", dropped(WAIT, 2, 3), "in-flight pending-copy values"),
    unfused("a copy of P is left out", dropped(COPY, 12, 28), "uninitialized values"),
    unfused(
        "scores stored 64 bytes too far",
        replaced(
            r"store (<8 x half> %\d+), ptr (%\d+), align 16",
            r"%far = getelementptr i8, ptr \2, i64 64\n  store \1, ptr %far, align 16",
            0,
            12,
        ),
        "values",
    ),
    unfused(
        "the mask hides the diagonal",
        replaced(r"icmp slt (<4 x i32> %\d+, %\d+)", r"icmp sle \1", 0, 8),
        "values",
    ),
    unfused("shuffle distance 4 for 1 in a row's sum", with_operand(SHUFFLE, 2, "i32 4", 4, 16), "values"),
    few_queries("half of what is copied of Q", with_operand(PART_OF_COPY, 2, "i32 8", 0, 4), "values"),
    few_queries(
        "rows of Q behind the last one are read",
        each(
            replaced(r"tail call i64 @llvm\.umin\.i64\(i64 (%\d+), i64 9\)", r"add i64 \1, 0"),
            with_operand(PART_OF_COPY, 2, "i32 16", 2, 4),
        ),
        "out-of-bounds",
    ),
    few_queries(
        "rows of the output behind the last one are written",
        replaced(r"br i1 %\d+, (label %\d+, label %\d+)$", r"br i1 true, \1", 2, 3),
        "out-of-bounds",
    ),
    single_precision(
        "no barrier before V is copied over Q, whose rows are shorter",
        dropped(BARRIER, 1, 5),
        "order race values",
    ),
)

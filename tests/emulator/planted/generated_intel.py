"""Bugs planted into the attention kernels that this harness generates for Intel's GPUs."""

from planted.bugs import planted_into
from planted.ir_edits import Edit, replaced, with_operand

LOAD_Q = r"call spir_func void @_Z\d+intel_sub_group_2d_block_read_16b_8r16x2c"
LOAD_K = r"call spir_func void @_Z\d+intel_sub_group_2d_block_read_transpose"
LOAD_V = r"call spir_func void @_Z\d+intel_sub_group_2d_block_read_transform"
STORE_O = r"call spir_func void @_Z\d+intel_sub_group_2d_block_write_16b"
DPAS = r"call spir_func <8 x float> @_Z\d+intel_sub_group_f16_f16_matrix_mad"
SHUFFLE = r"call spir_func float @_Z\d+sub_group_shuffle_xor"
PREFETCH = r"call spir_func void @_Z\d+intel_sub_group_2d_block_prefetch"
BASE, WIDTH, HEIGHT, PITCH = range(4)
"""Operands of a message."""

flash, unfused = map(planted_into, ("flash by dpas", "unfused by dpas"))
few_queries = planted_into("flash by dpas of 10 queries")
prefetching = planted_into("flash by dpas with prefetches")


def moved(argument: int, bytes_: int) -> Edit:
    """Let a buffer begin so many bytes further on."""
    return replaced(
        rf"(%\d+) = ptrtoint ptr addrspace\(1\) %{argument} to i64",
        rf"%planted = ptrtoint ptr addrspace(1) %{argument} to i64\n  \1 = add i64 %planted, {bytes_}",
    )


MATRICES = (
    flash(
        "Q's width in elements, not bytes",
        with_operand(LOAD_Q, WIDTH, "i32 32"),
        "clamped unsupported-operand values",
    ),
    flash("K's height one less", with_operand(LOAD_K, HEIGHT, "i32 191", 11, 16), "clamped values"),
    flash("K's height that of Q", with_operand(LOAD_K, HEIGHT, "i32 128", 11, 16), "clamped values"),
    flash(
        "K's pitch in elements, not bytes",
        with_operand(LOAD_K, PITCH, "i32 32", 0, 16),
        "unsupported-operand values",
    ),
    flash("V's pitch that of two rows", with_operand(LOAD_V, PITCH, "i32 128", 1, 8), "values"),
    flash("V's pitch no multiple of 16", with_operand(LOAD_V, PITCH, "i32 72", 0, 8), "unaligned values"),
    flash("V's height one less", with_operand(LOAD_V, HEIGHT, "i32 191", 7, 8), "clamped values"),
    flash("the output's height one less", with_operand(STORE_O, HEIGHT, "i32 127", 0, 2), "clamped values"),
    flash(
        "the output written over Q",
        with_operand(STORE_O, BASE, "ptr addrspace(1) %0", 1, 2),
        "read-only values",
    ),
    flash("K begins half a line further on", moved(1, 32), "out-of-bounds unaligned values"),
    flash("V begins a row further on", moved(2, 64), "out-of-bounds values"),
)

PLACES = (
    flash(
        "Q's blocks begin within a word",
        replaced(r"<2 x i32> <i32 0, i32 undef>(, i32 %58, i32 1)", r"<2 x i32> <i32 1, i32 undef>\1"),
        "clamped unaligned values",
    ),
    flash(
        "x of K's second step in elements, not words",
        replaced(r"<2 x i32> <i32 8, i32 undef>", "<2 x i32> <i32 16, i32 undef>", 0, 8),
        "clamped values",
    ),
    flash("keys of one fragment twice", replaced(r"add i64 (%89), 32$", r"add i64 \1, 16"), "values"),
    flash(
        "rows of a sub-group by the lane's number",
        replaced(r"urem i64 %39, 8", "urem i64 %37, 8"),
        "replication values",
    ),
    flash("all sub-groups have the first band", replaced(r"mul i64 (%41), 8", r"mul i64 \1, 0"), "values"),
    flash("bands twice as far apart", replaced(r"mul i64 (%41), 8", r"mul i64 \1, 16"), "clamped values"),
    flash("a tile of keys is passed over", replaced(r"add i64 (%89), 64$", r"add i64 \1, 128"), "values"),
    flash(
        "columns of the output exchanged",
        replaced(r"<2 x i32> <i32 16, i32 undef>", "<2 x i32> <i32 0, i32 undef>", 0, 1),
        "values",
    ),
)

PRODUCTS = (
    flash(
        "the second step of Q·Kᵀ forgets the first",
        with_operand(DPAS, 2, "<8 x float> zeroinitializer", 4, 32),
        "values",
    ),
    flash("K's first step twice", with_operand(DPAS, 1, "<8 x i32> %101", 4, 32), "values"),
    flash(
        "V's fragments exchanged",
        replaced(
            r"<8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>$",
            "<8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>",
            1,
            9,
        ),
        "values",
    ),
    flash(
        "the halves of a word of V exchanged",
        replaced(
            r"(%239) = shufflevector (<16 x i32> %238, <16 x i32> %238, <8 x i32> <i32 0.*)$",
            r"%low = shufflevector \2\n"
            r"  \1 = call <8 x i32> @llvm.fshl.v8i32("
            r"<8 x i32> %low, <8 x i32> %low, <8 x i32> splat (i32 16))",
        ),
        "values",
    ),
)

ROWS = (
    flash("a maximum over half of the lanes", with_operand(SHUFFLE, 1, "i32 4", 3, 96), "values"),
    flash(
        "a distance beyond the sub-group", with_operand(SHUFFLE, 1, "i32 16", 7, 96), "inactive-source values"
    ),
    flash(
        "an accumulator that is not rescaled",
        replaced(r"fmul <8 x float> %242, (%90)$", r"fadd <8 x float> \1, zeroinitializer"),
        "values",
    ),
    flash(
        "the row's sum is not rescaled",
        replaced(r"fmul <8 x float> %242, (%93)$", r"fadd <8 x float> \1, zeroinitializer"),
        "values",
    ),
    flash(
        "exponentials of one fragment are left out of the row's sum",
        replaced(r"fadd <8 x float> %233, (%250)$", r"fadd <8 x float> \1, zeroinitializer"),
        "values",
    ),
    flash(
        "the mask forgets the lane's column",
        replaced(r"trunc i64 %43 to i32", "trunc i64 0 to i32"),
        "values",
    ),
    flash(
        "the mask is a column late", replaced(r"(%315), splat \(i32 16\)", r"\1, splat (i32 15)"), "values"
    ),
    flash(
        "the mask takes all rows for the band's first",
        replaced(r"<i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>$", "zeroinitializer", 0, 1 + 9),
        "values",
    ),
)

FEW_QUERIES = (
    few_queries(
        "Q's height as if it were padded",
        with_operand(LOAD_Q, HEIGHT, "i32 16", 0, 2),
        "clamped out-of-bounds",
    ),
    few_queries(
        "the output's height as if it were padded",
        with_operand(STORE_O, HEIGHT, "i32 16", 0, 4),
        "clamped out-of-bounds",
    ),
    few_queries(
        "the output's height that of a band", with_operand(STORE_O, HEIGHT, "i32 8", 3, 4), "clamped values"
    ),
)

IN_PARTS = (
    unfused("V's height that of Q", with_operand(LOAD_V, HEIGHT, "i32 100", 0, 8), "clamped"),
    unfused(
        "K's width in elements, not bytes", with_operand(LOAD_K, WIDTH, "i32 64", 14, 16), "clamped values"
    ),
    unfused("the output's height one less", with_operand(STORE_O, HEIGHT, "i32 99", 0, 4), "clamped values"),
    unfused(
        "a fragment of the output twice",
        replaced(r"fptrunc <8 x float> %336 to", "fptrunc <8 x float> %327 to"),
        "values",
    ),
)

PREFETCHES = (
    prefetching(
        "the tile after the next one is prefetched",
        replaced(r"call i64 @llvm.umin.i64\(i64 (%346), i64 128\)", r"add i64 \1, 64"),
        "clamped",
    ),
    prefetching(
        "rows are prefetched by the lane's number",
        replaced(r"add i64 (%347), %42$", r"add i64 \1, %37"),
        "replication",
    ),
    prefetching(
        "the height of what is prefetched one less",
        with_operand(PREFETCH, HEIGHT, "i32 191", 3, 4),
        "clamped",
    ),
    prefetching(
        "the pitch of what is prefetched in elements, not bytes",
        with_operand(PREFETCH, PITCH, "i32 32", 2, 4),
        "unsupported-operand",
    ),
    prefetching(
        "a prefetch begins half a line further on",
        replaced(
            r"(%352) = inttoptr i64 (%350) to", r"%planted = add i64 \2, 32\n  \1 = inttoptr i64 %planted to"
        ),
        "out-of-bounds unaligned",
    ),
)

BUGS = (*MATRICES, *PLACES, *PRODUCTS, *ROWS, *FEW_QUERIES, *IN_PARTS, *PREFETCHES)

"""Bugs planted into the hand-written kernels for NVIDIA."""

from planted.bugs import planted_into
from planted.ir_edits import (
    dropped,
    moved_behind,
    replaced,
    replaced_everywhere,
    swapped_operands,
    with_operand,
)

NVIDIA_BARRIER = r"call void @llvm\.nvvm\.barrier\.cta\.sync\.aligned\.all"
SHUFFLE = r"call float @llvm\.nvvm\.shfl\.sync\.bfly"
WAIT_GROUP = r"call void @llvm\.nvvm\.cp\.async\.wait\.group"
MMA = r"@llvm\.nvvm\.mma\.m16n8k16"

transpose, block_sum, matmul = map(planted_into, ("nvidia_transpose", "nvidia_block_sum", "nvidia_matmul"))
online_softmax, named_barriers = map(planted_into, ("nvidia_online_softmax", "nvidia_named_barriers"))

TRANSPOSE = (
    transpose("no barrier", dropped(NVIDIA_BARRIER), "order race uninitialized values"),
    transpose(
        "a shared array of 15 rows",
        replaced_everywhere("[16 x [17 x float]]", "[15 x [17 x float]]", 3),
        "shared-out-of-bounds values",
    ),
    transpose(
        "loads one row too far",
        replaced(
            r"%in_y = add i32 %first_y, %y", r"%planted = add i32 %y, 1\n  %in_y = add i32 %first_y, %planted"
        ),
        "out-of-bounds values",
    ),
    transpose(
        "stores one row too far",
        replaced(
            r"%out_y = add i32 %first_x, %y",
            r"%planted = add i32 %y, 1\n  %out_y = add i32 %first_x, %planted",
        ),
        "out-of-bounds values",
    ),
    transpose(
        "reads from the unused column of the pitch",
        replaced(r"(i32 0, i32 %x, i32) %y", r"\1 16"),
        "uninitialized values",
    ),
    transpose(
        "writes over the input",
        replaced(r"(%to = getelementptr float, ptr addrspace\(1\)) %out", r"\1 %in"),
        "read-only values",
    ),
    transpose(
        "a vector load from where only floats are aligned",
        replaced(
            r"%value = load float, ptr addrspace\(1\) %from, align 4",
            r"%pair = load <2 x float>, ptr addrspace(1) %from, align 8\n"
            r"  %value = extractelement <2 x float> %pair, i32 0",
        ),
        "out-of-bounds unaligned values",
    ),
)

BLOCK_SUM = (
    block_sum("no barrier", dropped(NVIDIA_BARRIER), "order race uninitialized"),
    block_sum(
        "all warps but the first return before the barrier",
        replaced(
            r"call void (@llvm\.nvvm\.barrier\.cta\.sync\.aligned\.all\(i32 0\))",
            r"%returns_early = icmp ugt i32 %warp, 0\n"
            r"  br i1 %returns_early, label %end, label %barrier\n\nbarrier:\n  call void \1",
        ),
        "divergent-barrier race",
    ),
    block_sum(
        "a step of the reduction left out",
        replaced(r"fadd float %sum_4, %other_4", "fadd float %sum_4, 0.0"),
        "values",
    ),
    block_sum("distance 4 twice, for 8", with_operand(SHUFFLE, 2, "i32 4", 1, 7), "values"),
    block_sum(
        "a member mask without lane 31",
        with_operand(SHUFFLE, 0, "i32 2147483647", 0, 7),
        "inactive-source member-mask values",
    ),
    block_sum(
        "every lane stores its warp's sum",
        replaced(r"(%is_first_lane = icmp) eq i32 %lane, 0", r"\1 uge i32 %lane, 0"),
        "race",
        within_warps=True,
    ),
    block_sum(
        "reads a fifth warp's sum",
        replaced(r"%which = and i32 %lane, 3", "%four = and i32 %lane, 3\n  %which = add i32 %four, 1"),
        "shared-out-of-bounds values",
    ),
)

MATMUL = (
    matmul("no wait for the last copies", dropped(WAIT_GROUP, 1, 2), "in-flight pending-copy values"),
    matmul("no wait while copies are prefetched", dropped(WAIT_GROUP, 0, 2), "in-flight values"),
    matmul(
        "waits for all groups but two, not one",
        with_operand(WAIT_GROUP, 0, "i32 2", 0, 2),
        "in-flight values",
    ),
    matmul(
        "copies that are never committed",
        dropped(r"call void @llvm\.nvvm\.cp\.async\.commit\.group"),
        "in-flight pending-copy values",
    ),
    matmul("no barrier after the wait", dropped(NVIDIA_BARRIER, 0, 2), "in-flight race uninitialized values"),
    matmul(
        "no barrier before the tiles are overwritten", dropped(NVIDIA_BARRIER, 1, 2), "in-flight race values"
    ),
    matmul(
        "copies into the stage that is read",
        replaced(r"(ptr addrspace\(1\) %own_b, i32) %next_stage", r"\1 %stage"),
        "in-flight values",
    ),
    matmul("registers 1 and 2 of A swapped", swapped_operands(MMA, 1, 2), "values"),
    matmul("registers of B swapped", swapped_operands(MMA, 4, 5), "values"),
    matmul(
        "fragments of B not transposed", replaced_everywhere("m8n8.x2.trans.b16", "m8n8.x2.b16", 2), "values"
    ),
    matmul(
        "columns of A for lanes 16 to 31 not added",
        replaced(r"(%a_column = shl i32) %matrix_half, 3", r"\1 0, 3", 0, 1),
        "values",
    ),
    matmul(
        "rows of ldmatrix that are 8 bytes apart",
        replaced(r"%a_column = shl i32 %matrix_half, 3", "%a_column = shl i32 %matrix_half, 2"),
        "unaligned values",
    ),
    matmul(
        "one copy too many, past the end of B",
        replaced(r"%has_next = icmp slt", "%has_next = icmp sle"),
        "out-of-bounds values",
    ),
)

SOFTMAX = (
    online_softmax(
        "the sum is not rescaled",
        replaced(r"fmul float %old_sum, %rescale", "fmul float %old_sum, 1.0"),
        "values",
    ),
    online_softmax(
        "no scale in the second pass",
        replaced(r"fmul float %raw_again, %scale", "fmul float %raw_again, 1.0"),
        "values",
    ),
    online_softmax(
        "weights of the first pass relative to the chunk's maximum",
        replaced(r"fsub float %score, %maximum", "fsub float %score, %chunk_maximum"),
        "values",
    ),
    online_softmax(
        "one chunk too many",
        replaced(r"%has_more = icmp slt", "%has_more = icmp sle"),
        "out-of-bounds values",
    ),
    online_softmax(
        "one chunk too few",
        replaced(
            r"(%has_more_out = icmp slt i32) %next_out_column, %columns",
            r"%shorter = sub i32 %columns, 32\n  \1 %next_out_column, %shorter",
        ),
        "values",
    ),
    online_softmax(
        "lanes take part in the maximum of their own half only",
        replaced(r"phi i32 \[ 16, %begin \]", "phi i32 [ 8, %begin ]", 0, 2),
        "values",
    ),
)

NAMED_BARRIERS = (
    named_barriers(
        "the producer does not wait for the place",
        dropped(r"call void @llvm\.nvvm\.barrier\.cta\.sync\.count\(i32 2", 0, 2),
        "divergent-barrier race values",
    ),
    named_barriers(
        "the consumer does not wait for a run",
        dropped(r"call void @llvm\.nvvm\.barrier\.cta\.sync\.count\(i32 1"),
        "divergent-barrier uninitialized values",
    ),
    named_barriers(
        "the consumer gives the place back too early",
        moved_behind(r"%taken = load", r"barrier\.cta\.arrive\.count\(i32 2"),
        "race",
    ),
    named_barriers(
        "the producer announces a run too early",
        moved_behind(r"store float %value", r"barrier\.cta\.arrive\.count\(i32 1"),
        "race",
    ),
    named_barriers(
        "the producer announces nothing",
        dropped(r"call void @llvm\.nvvm\.barrier\.cta\.arrive\.count\(i32 1"),
        "divergent-barrier order race values",
    ),
    named_barriers(
        "different numbers of threads",
        with_operand(r"call void @llvm\.nvvm\.barrier\.cta\.arrive\.count\(i32 1", 1, "i32 32"),
        "divergent-barrier",
    ),
)


BUGS = (*TRANSPOSE, *BLOCK_SUM, *MATMUL, *SOFTMAX, *NAMED_BARRIERS)

"""Bugs planted into the hand-written kernels for AMD."""

from planted.bugs import planted_into
from planted.ir_edits import dropped, each, moved_behind, replaced, swapped_operands, with_operand

MFMA = r"@llvm\.amdgcn\.mfma"
WMMA = r"@llvm\.amdgcn\.wmma"
DPP = r"@llvm\.amdgcn\.update\.dpp"
RESOURCE = r"@llvm\.amdgcn\.make\.buffer\.rsrc"
SIGNAL = r"call void @llvm\.amdgcn\.s\.barrier\.signal"
WAIT = r"call void @llvm\.amdgcn\.s\.barrier\.wait"

wave_sum_gfx9, wave_maximum_gfx11 = map(planted_into, ("amd_wave_sum_gfx9", "amd_wave_maximum_gfx11"))
rotation, mfma, buffer_copy = map(planted_into, ("amd_rotation", "amd_mfma", "amd_buffer_copy"))
wmma_gfx11, wmma_gfx12 = map(planted_into, ("amd_wmma_gfx11", "amd_wmma_gfx12"))
split_barriers = planted_into("amd_split_barriers")

LANES = (
    wave_sum_gfx9("row_shr:3 for row_shr:4", with_operand(DPP, 2, "i32 275", 2, 6), "values"),
    wave_sum_gfx9("row_bcast:15 not into row 3", with_operand(DPP, 3, "i32 2", 4, 6), "values"),
    wave_sum_gfx9(
        "bank mask without the last four lanes of a row", with_operand(DPP, 4, "i32 7", 3, 6), "values"
    ),
    wave_sum_gfx9(
        "row_xmask, which this GPU does not have",
        with_operand(DPP, 2, "i32 353", 0, 6),
        "unsupported-operand values",
    ),
    wave_sum_gfx9(
        "the sum of lane 31 for 63", with_operand(r"@llvm\.amdgcn\.readlane", 1, "i32 31"), "values"
    ),
    wave_maximum_gfx11("row_share for row_xmask", with_operand(DPP, 2, "i32 337", 0, 4), "values"),
    wave_maximum_gfx11("bits of the distance 8 left out", with_operand(DPP, 2, "i32 356", 3, 4), "values"),
    rotation(
        "bpermute by lane number, not by byte address",
        replaced(r"%address = shl i32 %source, 2", "%address = shl i32 %source, 0"),
        "values",
    ),
    rotation(
        "bpermute with address and value swapped",
        swapped_operands(r"@llvm\.amdgcn\.ds\.bpermute", 0, 1),
        "values",
    ),
    rotation(
        "lanes counted within 32",
        replaced(r"call i32 @llvm\.amdgcn\.mbcnt\.hi\(i32 -1, i32 %low\)", "and i32 %low, 31"),
        "values",
    ),
)

MATRICES = (
    mfma("A and B swapped", swapped_operands(MFMA, 0, 1, 0, 2), "values"),
    mfma("the accumulator forgotten", with_operand(MFMA, 2, "<4 x float> zeroinitializer", 1, 2), "values"),
    mfma(
        "B's fragment from the wrong group",
        replaced(r"(%b_place = .*), i32 %offset", r"\1, i32 %group"),
        "unaligned values",
    ),
    mfma("broadcast of A by cbsz", with_operand(MFMA, 3, "i32 1", 0, 2), "unsupported-operand values"),
    mfma("rows of C two apart", replaced(r"(%place_1 = .*) i32 1", r"\1 i32 2"), "values"),
    wmma_gfx11("A and B swapped", swapped_operands(WMMA, 0, 1, 0, 2), "values"),
    wmma_gfx11(
        "lanes 16 to 31 hold no copy of A",
        replaced(r"(%a_place = .*), i32 %line", r"\1, i32 %lane"),
        "out-of-bounds replication",
    ),
    wmma_gfx11(
        "rows of C as on gfx12", replaced(r"%row = shl i32 %i, 1", "%row = shl i32 %i, 0"), "order values"
    ),
    wmma_gfx12("A and B swapped", swapped_operands(WMMA, 0, 1, 1, 2), "values"),
    wmma_gfx12(
        "rows of C as on gfx11",
        each(
            replaced(
                r"i32 %workgroup, i32 %offset, i32 %line(?= *$)", "i32 %workgroup, i32 %half, i32 %line"
            ),
            replaced(r"(%place = getelementptr .*) %i", r"%row = shl i32 %i, 1\n  \1 %row"),
        ),
        "values",
    ),
    wmma_gfx12(
        "half a wave leaves before the product",
        each(
            replaced(
                r"%offset = shl i32 %half, 3",
                "%offset = shl i32 %half, 3\n"
                "  %leaves = icmp eq i32 %half, 1\n"
                "  br i1 %leaves, label %end, label %stays\n\nstays:",
            ),
            replaced(r"phi i32 \[ 0, %begin \]", "phi i32 [ 0, %stays ]"),
        ),
        "divergent-collective values",
    ),
)

BUFFERS = (
    buffer_copy(
        "half of the input's buffer declared",
        replaced(r"%bytes = shl i32 %count, 2", "%bytes = shl i32 %count, 1"),
        "clamped values",
    ),
    buffer_copy(
        "a buffer longer than the memory",
        replaced(r"%bytes = shl i32 %count, 2", "%bytes = shl i32 %count, 3"),
        "clamped out-of-bounds values",
    ),
    buffer_copy(
        "offsets in elements, not bytes",
        replaced(r"%offset = shl i32 %quad, 4", "%offset = shl i32 %quad, 2"),
        "clamped values",
    ),
    buffer_copy(
        "the output over the input",
        with_operand(RESOURCE, 0, "ptr addrspace(1) %in", 1, 2),
        "read-only values",
    ),
    buffer_copy("a swizzled buffer", with_operand(RESOURCE, 1, "i16 -32764", 0, 2), "unsupported-operand"),
)

SPLIT_BARRIERS = (
    split_barriers(
        "no wait before the neighbour is read",
        dropped(WAIT, 0, 2),
        "divergent-barrier order race uninitialized values",
    ),
    split_barriers(
        "no wait before the next round", dropped(WAIT, 1, 2), "divergent-barrier order race values"
    ),
    split_barriers(
        "no signal before the neighbour is read", dropped(SIGNAL, 0, 2), "deadlock order race values"
    ),
    split_barriers("stores after the signal", moved_behind(r"store float %value", SIGNAL), "race"),
    split_barriers(
        "reads the neighbour before the wait",
        moved_behind(WAIT, r"%other = load", 0, 2),
        "order race uninitialized values",
    ),
    split_barriers(
        "reads the neighbour after the signal that gives it back",
        moved_behind(r"%other = load", SIGNAL),
        "race",
    ),
)


BUGS = (*LANES, *MATRICES, *BUFFERS, *SPLIT_BARRIERS)

"""Bugs planted into IREE's attention for NVIDIA."""

from planted.bugs import planted_into
from planted.ir_edits import (
    dropped,
    each,
    replaced,
    swapped_operands,
    with_function,
    with_operand,
    without_rescale,
)

NVIDIA_BARRIER = r"call void @llvm\.nvvm\.barrier\.cta\.sync\.aligned\.all"
SHUFFLE = r"call float @llvm\.nvvm\.shfl\.sync\.bfly"
MMA = r"@llvm\.nvvm\.mma\.m16n8k16"

FIRST_WARP_SKIPS = """
define internal void @barrier_without_first_warp(i32 %thread) {
  %is_first_warp = icmp ult i32 %thread, 32
  br i1 %is_first_warp, label %end, label %meet

meet:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %end

end:
  ret void
}
"""

LOWER_HALF_SHUFFLES = """
define internal float @shuffle_of_lower_half(float %value) {
begin:
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = and i32 %thread, 31
  %is_lower = icmp ult i32 %lane, 16
  br i1 %is_lower, label %meet, label %end

meet:
  %other = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %value, i32 1, i32 31)
  br label %end

end:
  %result = phi float [ %other, %meet ], [ %value, %begin ]
  ret float %result
}
"""

sm_80 = planted_into("sm_80")

BUGS = (
    sm_80(
        "no barrier after Q is in shared memory",
        dropped(NVIDIA_BARRIER, 0, 3),
        "order race uninitialized values",
    ),
    sm_80("no barrier before K and V are overwritten", dropped(NVIDIA_BARRIER, 1, 3), "order race values"),
    sm_80(
        "no barrier after K and V are in shared memory",
        dropped(NVIDIA_BARRIER, 2, 3),
        "race uninitialized values",
    ),
    sm_80(
        "the first warp skips a barrier",
        each(
            replaced(
                rf"tail {NVIDIA_BARRIER}\(i32 0\)", r"call void @barrier_without_first_warp(i32 %5)", 0, 3
            ),
            with_function(FIRST_WARP_SKIPS),
        ),
        "divergent-barrier order race uninitialized values",
    ),
    sm_80(
        "only half of a warp shuffles",
        each(
            replaced(
                rf"tail {SHUFFLE}\.f32\(i32 -1, (float %\d+), i32 1, i32 31\)",
                r"call float @shuffle_of_lower_half(\1)",
                0,
                4,
            ),
            with_function(LOWER_HALF_SHUFFLES),
        ),
        "divergent-collective values",
    ),
    sm_80("shuffle distance 4 for 1 in a row's maximum", with_operand(SHUFFLE, 2, "i32 4", 0, 8), "values"),
    sm_80("shuffle distance 8 for 2 in a row's sum", with_operand(SHUFFLE, 2, "i32 8", 5, 8), "values"),
    sm_80(
        "member mask of the lower 16 lanes",
        with_operand(SHUFFLE, 0, "i32 65535", 0, 8),
        "inactive-source member-mask values",
    ),
    sm_80("clamp 15 for 31 in a shuffle's last operand", with_operand(SHUFFLE, 3, "i32 15", 0, 8), "values"),
    sm_80("registers 0 and 1 of A swapped in a matrix product", swapped_operands(MMA, 0, 1, 5, 48), "values"),
    sm_80("registers of B swapped in a matrix product", swapped_operands(MMA, 4, 5, 5, 48), "values"),
    sm_80("the wrong accumulator in a matrix product", swapped_operands(MMA, 6, 7, 40, 48), "values"),
    sm_80(
        "pitch 66 for 68 where Q, K and V are stored",
        replaced(r"mul nuw nsw i32 (%\S+), 68", r"mul nuw nsw i32 \1, 66", 0, 4),
        "unaligned uninitialized values",
    ),
    sm_80("an accumulator that is not rescaled", without_rescale("2 x float", 0, 8), "values"),
    sm_80("a row's sum that is not rescaled", without_rescale("1 x float", 0, 2), "values"),
    sm_80(
        "one fragment of Q that is not scaled",
        replaced(
            r"fmul <2 x half> (%\d+), splat \(half 1.802980e-01\)",
            r"fmul <2 x half> \1, splat (half 1.0)",
            0,
            16,
        ),
        "values",
    ),
    sm_80(
        "K loaded 128 KiB too far",
        replaced(r"(getelementptr i8, ptr addrspace\(1\) %\d+, i64) 6144", r"\1 137216", 1, 2),
        "out-of-bounds values",
    ),
    sm_80(
        "Q stored past the end of shared memory",
        replaced(
            r"(getelementptr \[2 x i8\], ptr addrspace\(3\)) @__dynamic_shared_memory__(, i64 %31)",
            r"\1 getelementptr (i8, ptr addrspace(3) @__dynamic_shared_memory__, i64 14000)\2",
        ),
        "shared-out-of-bounds uninitialized values",
    ),
    sm_80(
        "the output written over Q",
        replaced(r"(getelementptr \[2 x i8\], ptr addrspace\(1\)) %3,", r"\1 %0,"),
        "read-only values",
    ),
)

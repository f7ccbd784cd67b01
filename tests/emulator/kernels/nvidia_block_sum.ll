; out[workgroup] = the sum of 128 floats: shuffles within each of four warps, then through shared memory.
; Block 128, grid any.
target triple = "nvptx64-nvidia-cuda"

@sums = internal addrspace(3) global [4 x float] undef, align 4

define ptx_kernel void @block_sum(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %workgroup = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %lane = and i32 %thread, 31
  %warp = lshr i32 %thread, 5
  %first = shl i32 %workgroup, 7
  %index = add i32 %first, %thread
  %from = getelementptr float, ptr addrspace(1) %in, i32 %index
  %value = load float, ptr addrspace(1) %from, align 4
  %other_16 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %value, i32 16, i32 31)
  %sum_2 = fadd float %value, %other_16
  %other_8 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %sum_2, i32 8, i32 31)
  %sum_4 = fadd float %sum_2, %other_8
  %other_4 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %sum_4, i32 4, i32 31)
  %sum_8 = fadd float %sum_4, %other_4
  %other_2 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %sum_8, i32 2, i32 31)
  %sum_16 = fadd float %sum_8, %other_2
  %other_1 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %sum_16, i32 1, i32 31)
  %sum_32 = fadd float %sum_16, %other_1
  %is_first_lane = icmp eq i32 %lane, 0
  br i1 %is_first_lane, label %publish, label %meet

publish:
  %place = getelementptr float, ptr addrspace(3) @sums, i32 %warp
  store float %sum_32, ptr addrspace(3) %place, align 4
  br label %meet

meet:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %is_first_warp = icmp eq i32 %warp, 0
  br i1 %is_first_warp, label %combine, label %end

combine:
  %which = and i32 %lane, 3
  %of_warp = getelementptr float, ptr addrspace(3) @sums, i32 %which
  %part = load float, ptr addrspace(3) %of_warp, align 4
  %part_2 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %part, i32 2, i32 31)
  %pair = fadd float %part, %part_2
  %part_1 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %pair, i32 1, i32 31)
  %total = fadd float %pair, %part_1
  br i1 %is_first_lane, label %write, label %end

write:
  %to = getelementptr float, ptr addrspace(1) %out, i32 %workgroup
  store float %total, ptr addrspace(1) %to, align 4
  br label %end

end:
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare float @llvm.nvvm.shfl.sync.bfly.f32(i32, float, i32, i32)
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)

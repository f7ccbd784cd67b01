; out = softmax(scale · in) row by row, a warp a row: the first pass keeps a running maximum and a sum that is
; rescaled whenever the maximum rises, the second one writes.
; Block 64, grid rows / 2; columns are a multiple of 32.  `scale` has log2(e) in it.
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @online_softmax(ptr addrspace(1) %in, ptr addrspace(1) %out, i32 %columns, float %scale) {
begin:
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %workgroup = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %lane = and i32 %thread, 31
  %warp = lshr i32 %thread, 5
  %first_row = shl i32 %workgroup, 1
  %row = add i32 %first_row, %warp
  %skipped = mul i32 %row, %columns
  %start = add i32 %skipped, %lane
  %from = getelementptr float, ptr addrspace(1) %in, i32 %start
  %to = getelementptr float, ptr addrspace(1) %out, i32 %start
  br label %first_pass

first_pass:
  %column = phi i32 [ 0, %begin ], [ %next_column, %first_pass ]
  %old_maximum = phi float [ 0xFFF0000000000000, %begin ], [ %maximum, %first_pass ]
  %old_sum = phi float [ 0.0, %begin ], [ %sum, %first_pass ]
  %next_column = add i32 %column, 32
  %place = getelementptr float, ptr addrspace(1) %from, i32 %column
  %raw = load float, ptr addrspace(1) %place, align 4
  %score = fmul float %raw, %scale
  %chunk_maximum = call float @warp_maximum(float %score)
  %maximum = call float @llvm.maxnum.f32(float %old_maximum, float %chunk_maximum)
  %shifted = fsub float %score, %maximum
  %weight = call float @llvm.nvvm.ex2.approx.f(float %shifted)
  %chunk_sum = call float @warp_sum(float %weight)
  %change = fsub float %old_maximum, %maximum
  %rescale = call float @llvm.nvvm.ex2.approx.f(float %change)
  %rescaled_sum = fmul float %old_sum, %rescale
  %sum = fadd float %rescaled_sum, %chunk_sum
  %has_more = icmp slt i32 %next_column, %columns
  br i1 %has_more, label %first_pass, label %second_pass

second_pass:
  %out_column = phi i32 [ 0, %first_pass ], [ %next_out_column, %second_pass ]
  %next_out_column = add i32 %out_column, 32
  %again = getelementptr float, ptr addrspace(1) %from, i32 %out_column
  %raw_again = load float, ptr addrspace(1) %again, align 4
  %score_again = fmul float %raw_again, %scale
  %shifted_again = fsub float %score_again, %maximum
  %weight_again = call float @llvm.nvvm.ex2.approx.f(float %shifted_again)
  %probability = fdiv float %weight_again, %sum
  %target = getelementptr float, ptr addrspace(1) %to, i32 %out_column
  store float %probability, ptr addrspace(1) %target, align 4
  %has_more_out = icmp slt i32 %next_out_column, %columns
  br i1 %has_more_out, label %second_pass, label %end

end:
  ret void
}

define internal float @warp_maximum(float %value) {
begin:
  br label %step

step:
  %distance = phi i32 [ 16, %begin ], [ %half, %step ]
  %largest = phi float [ %value, %begin ], [ %larger, %step ]
  %other = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %largest, i32 %distance, i32 31)
  %larger = call float @llvm.maxnum.f32(float %largest, float %other)
  %half = lshr i32 %distance, 1
  %is_done = icmp eq i32 %half, 0
  br i1 %is_done, label %end, label %step

end:
  ret float %larger
}

define internal float @warp_sum(float %value) {
begin:
  br label %step

step:
  %distance = phi i32 [ 16, %begin ], [ %half, %step ]
  %sum = phi float [ %value, %begin ], [ %next_sum, %step ]
  %other = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %sum, i32 %distance, i32 31)
  %next_sum = fadd float %sum, %other
  %half = lshr i32 %distance, 1
  %is_done = icmp eq i32 %half, 0
  br i1 %is_done, label %end, label %step

end:
  ret float %next_sum
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare float @llvm.nvvm.shfl.sync.bfly.f32(i32, float, i32, i32)
declare float @llvm.nvvm.ex2.approx.f(float)
declare float @llvm.maxnum.f32(float, float)

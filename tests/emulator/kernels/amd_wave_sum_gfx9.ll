; out[workgroup] = the sum of 64 floats, by data parallel primitives: sums of rows of 16 lanes by shifts, then
; the end of a row is added to the next.  Block 64, grid any.
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @wave_sum(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %workgroup = call i32 @llvm.amdgcn.workgroup.id.x()
  %first = shl i32 %workgroup, 6
  %index = add i32 %first, %lane
  %from = getelementptr float, ptr addrspace(1) %in, i32 %index
  %value = load float, ptr addrspace(1) %from, align 4
  ; row_shr:1, :2, :4, :8 — what would come from before the row counts as 0
  %one_before = call float @llvm.amdgcn.update.dpp.f32(float 0.0, float %value, i32 273, i32 15, i32 15, i1 true)
  %sum_2 = fadd float %value, %one_before
  %two_before = call float @llvm.amdgcn.update.dpp.f32(float 0.0, float %sum_2, i32 274, i32 15, i32 15, i1 true)
  %sum_4 = fadd float %sum_2, %two_before
  %four_before = call float @llvm.amdgcn.update.dpp.f32(float 0.0, float %sum_4, i32 276, i32 15, i32 15, i1 true)
  %sum_8 = fadd float %sum_4, %four_before
  %eight_before = call float @llvm.amdgcn.update.dpp.f32(float 0.0, float %sum_8, i32 280, i32 15, i32 15, i1 true)
  %sum_16 = fadd float %sum_8, %eight_before
  ; row_bcast:15 into rows 1 and 3, row_bcast:31 into rows 2 and 3
  %row_before = call float @llvm.amdgcn.update.dpp.f32(float 0.0, float %sum_16, i32 322, i32 10, i32 15, i1 false)
  %sum_32 = fadd float %sum_16, %row_before
  %half_before = call float @llvm.amdgcn.update.dpp.f32(float 0.0, float %sum_32, i32 323, i32 12, i32 15, i1 false)
  %sum_64 = fadd float %sum_32, %half_before
  %total = call float @llvm.amdgcn.readlane.f32(float %sum_64, i32 63)
  %is_first_lane = icmp eq i32 %lane, 0
  br i1 %is_first_lane, label %write, label %end

write:
  %to = getelementptr float, ptr addrspace(1) %out, i32 %workgroup
  store float %total, ptr addrspace(1) %to, align 4
  br label %end

end:
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare float @llvm.amdgcn.update.dpp.f32(float, float, i32, i32, i32, i1)
declare float @llvm.amdgcn.readlane.f32(float, i32)

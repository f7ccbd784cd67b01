; C = A · Bᵀ with A and B 16×32 (f16) and C 16×16 (f32), for each workgroup its own, by the matrix instruction of a
; wave of 32 without replicated lanes.  Block 32, grid any.
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @matmul(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c) {
begin:
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %workgroup = call i32 @llvm.amdgcn.workgroup.id.x()
  ; Lane l has row l % 16 of A and of B, and eight of 16 k; which ones is no matter, as long as A and B agree.
  %line = and i32 %lane, 15
  %half = lshr i32 %lane, 4
  %offset = shl i32 %half, 3
  %a_place = getelementptr [16 x [32 x half]], ptr addrspace(1) %a, i32 %workgroup, i32 %line, i32 %offset
  %b_place = getelementptr [16 x [32 x half]], ptr addrspace(1) %b, i32 %workgroup, i32 %line, i32 %offset
  %a_low = load <8 x half>, ptr addrspace(1) %a_place, align 16
  %b_low = load <8 x half>, ptr addrspace(1) %b_place, align 16
  %a_next = getelementptr half, ptr addrspace(1) %a_place, i32 16
  %b_next = getelementptr half, ptr addrspace(1) %b_place, i32 16
  %a_high = load <8 x half>, ptr addrspace(1) %a_next, align 16
  %b_high = load <8 x half>, ptr addrspace(1) %b_next, align 16
  %half_done = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16(<8 x half> %a_low, <8 x half> %b_low, <8 x float> zeroinitializer)
  %done = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16(<8 x half> %a_high, <8 x half> %b_high, <8 x float> %half_done)
  ; Of C it has column l % 16, there rows 0 to 7 or, from lane 16 on, 8 to 15.
  %first_place = getelementptr [16 x [16 x float]], ptr addrspace(1) %c, i32 %workgroup, i32 %offset, i32 %line
  br label %write

write:
  %i = phi i32 [ 0, %begin ], [ %next, %write ]
  %value = extractelement <8 x float> %done, i32 %i
  %place = getelementptr [16 x float], ptr addrspace(1) %first_place, i32 %i
  store float %value, ptr addrspace(1) %place, align 4
  %next = add i32 %i, 1
  %has_more = icmp ult i32 %next, 8
  br i1 %has_more, label %write, label %end

end:
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16(<8 x half>, <8 x half>, <8 x float>)

; C = A · Bᵀ with A and B 16×32 (f16) and C 16×16 (f32), for each workgroup its own, by the matrix instruction of a
; wave of 32, whose upper 16 lanes hold the same operands as the lower ones.  Block 32, grid any.
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @matmul(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c) {
begin:
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %workgroup = call i32 @llvm.amdgcn.workgroup.id.x()
  %line = and i32 %lane, 15
  %a_place = getelementptr [16 x [32 x half]], ptr addrspace(1) %a, i32 %workgroup, i32 %line
  %b_place = getelementptr [16 x [32 x half]], ptr addrspace(1) %b, i32 %workgroup, i32 %line
  %a_low = load <16 x half>, ptr addrspace(1) %a_place, align 32
  %b_low = load <16 x half>, ptr addrspace(1) %b_place, align 32
  %a_next = getelementptr half, ptr addrspace(1) %a_place, i32 16
  %b_next = getelementptr half, ptr addrspace(1) %b_place, i32 16
  %a_high = load <16 x half>, ptr addrspace(1) %a_next, align 32
  %b_high = load <16 x half>, ptr addrspace(1) %b_next, align 32
  %half_done = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a_low, <16 x half> %b_low, <8 x float> zeroinitializer)
  %done = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a_high, <16 x half> %b_high, <8 x float> %half_done)
  ; Lane l has column l % 16, there the even rows or, from lane 16 on, the odd ones.
  %half = lshr i32 %lane, 4
  %first_place = getelementptr [16 x [16 x float]], ptr addrspace(1) %c, i32 %workgroup, i32 %half, i32 %line
  br label %write

write:
  %i = phi i32 [ 0, %begin ], [ %next, %write ]
  %row = shl i32 %i, 1
  %value = extractelement <8 x float> %done, i32 %i
  %place = getelementptr [16 x float], ptr addrspace(1) %first_place, i32 %row
  store float %value, ptr addrspace(1) %place, align 4
  %next = add i32 %i, 1
  %has_more = icmp ult i32 %next, 8
  br i1 %has_more, label %write, label %end

end:
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half>, <16 x half>, <8 x float>)

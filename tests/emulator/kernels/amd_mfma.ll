; C = A · Bᵀ with A and B 16×32 (f16) and C 16×16 (f32), for each workgroup its own, by the matrix instruction of a
; wave of 64.  Block 64, grid any.
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @matmul(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c) {
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %workgroup = call i32 @llvm.amdgcn.workgroup.id.x()
  ; Lane l has row l % 16 of A and of B, there the four k from 4 (l / 16) on, and column l % 16 of C, there the four
  ; rows from 4 (l / 16) on.
  %line = and i32 %lane, 15
  %group = lshr i32 %lane, 4
  %offset = shl i32 %group, 2
  %a_place = getelementptr [16 x [32 x half]], ptr addrspace(1) %a, i32 %workgroup, i32 %line, i32 %offset
  %b_place = getelementptr [16 x [32 x half]], ptr addrspace(1) %b, i32 %workgroup, i32 %line, i32 %offset
  %a_low = load <4 x half>, ptr addrspace(1) %a_place, align 8
  %b_low = load <4 x half>, ptr addrspace(1) %b_place, align 8
  %a_next = getelementptr half, ptr addrspace(1) %a_place, i32 16
  %b_next = getelementptr half, ptr addrspace(1) %b_place, i32 16
  %a_high = load <4 x half>, ptr addrspace(1) %a_next, align 8
  %b_high = load <4 x half>, ptr addrspace(1) %b_next, align 8
  %half_done = call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half> %a_low, <4 x half> %b_low, <4 x float> zeroinitializer, i32 0, i32 0, i32 0)
  %done = call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half> %a_high, <4 x half> %b_high, <4 x float> %half_done, i32 0, i32 0, i32 0)
  %place = getelementptr [16 x [16 x float]], ptr addrspace(1) %c, i32 %workgroup, i32 %offset, i32 %line
  %place_1 = getelementptr [16 x float], ptr addrspace(1) %place, i32 1
  %place_2 = getelementptr [16 x float], ptr addrspace(1) %place, i32 2
  %place_3 = getelementptr [16 x float], ptr addrspace(1) %place, i32 3
  %done_0 = extractelement <4 x float> %done, i32 0
  %done_1 = extractelement <4 x float> %done, i32 1
  %done_2 = extractelement <4 x float> %done, i32 2
  %done_3 = extractelement <4 x float> %done, i32 3
  store float %done_0, ptr addrspace(1) %place, align 4
  store float %done_1, ptr addrspace(1) %place_1, align 4
  store float %done_2, ptr addrspace(1) %place_2, align 4
  store float %done_3, ptr addrspace(1) %place_3, align 4
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half>, <4 x half>, <4 x float>, i32, i32, i32)

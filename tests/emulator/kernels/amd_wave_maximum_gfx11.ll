; out[i] = the maximum of the 32 floats that in[i] is one of: row_xmask within rows of 16 lanes, then permlanex16
; between the two rows.  Block 64, grid any.
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @wave_maximum(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %thread = call i32 @llvm.amdgcn.workitem.id.x()
  %workgroup = call i32 @llvm.amdgcn.workgroup.id.x()
  %first = shl i32 %workgroup, 6
  %index = add i32 %first, %thread
  %from = getelementptr float, ptr addrspace(1) %in, i32 %index
  %value = load float, ptr addrspace(1) %from, align 4
  ; row_xmask:1, :2, :4, :8
  %other_1 = call float @llvm.amdgcn.update.dpp.f32(float poison, float %value, i32 353, i32 15, i32 15, i1 true)
  %of_2 = call float @llvm.maxnum.f32(float %value, float %other_1)
  %other_2 = call float @llvm.amdgcn.update.dpp.f32(float poison, float %of_2, i32 354, i32 15, i32 15, i1 true)
  %of_4 = call float @llvm.maxnum.f32(float %of_2, float %other_2)
  %other_4 = call float @llvm.amdgcn.update.dpp.f32(float poison, float %of_4, i32 356, i32 15, i32 15, i1 true)
  %of_8 = call float @llvm.maxnum.f32(float %of_4, float %other_4)
  %other_8 = call float @llvm.amdgcn.update.dpp.f32(float poison, float %of_8, i32 360, i32 15, i32 15, i1 true)
  %of_16 = call float @llvm.maxnum.f32(float %of_8, float %other_8)
  %bits = bitcast float %of_16 to i32
  %other_bits = call i32 @llvm.amdgcn.permlanex16.i32(i32 poison, i32 %bits, i32 1985229328, i32 -19088744, i1 false, i1 false)
  %other_row = bitcast i32 %other_bits to float
  %of_32 = call float @llvm.maxnum.f32(float %of_16, float %other_row)
  %to = getelementptr float, ptr addrspace(1) %out, i32 %index
  store float %of_32, ptr addrspace(1) %to, align 4
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare float @llvm.amdgcn.update.dpp.f32(float, float, i32, i32, i32, i1)
declare i32 @llvm.amdgcn.permlanex16.i32(i32, i32, i32, i32, i1, i1)
declare float @llvm.maxnum.f32(float, float)

; out = in, `count` floats, four at a time, through buffer resources: the hardware drops what is past the end.
; Block 64, grid such that it covers all floats.
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @copy(ptr addrspace(1) %in, ptr addrspace(1) %out, i32 %count) {
  %thread = call i32 @llvm.amdgcn.workitem.id.x()
  %workgroup = call i32 @llvm.amdgcn.workgroup.id.x()
  %bytes = shl i32 %count, 2
  %in_buffer = call ptr addrspace(7) @llvm.amdgcn.make.buffer.rsrc.p7.p1.i32(ptr addrspace(1) %in, i16 0, i32 %bytes, i32 159744)
  %out_buffer = call ptr addrspace(7) @llvm.amdgcn.make.buffer.rsrc.p7.p1.i32(ptr addrspace(1) %out, i16 0, i32 %bytes, i32 159744)
  %first = shl i32 %workgroup, 6
  %quad = add i32 %first, %thread
  %offset = shl i32 %quad, 4
  %from = getelementptr i8, ptr addrspace(7) %in_buffer, i32 %offset
  %values = load <4 x float>, ptr addrspace(7) %from, align 4
  %to = getelementptr i8, ptr addrspace(7) %out_buffer, i32 %offset
  store <4 x float> %values, ptr addrspace(7) %to, align 4
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare ptr addrspace(7) @llvm.amdgcn.make.buffer.rsrc.p7.p1.i32(ptr addrspace(1), i16, i32, i32)

; out = in with each run of 64 rotated by five: lane l of a wave gets what lane l + 5 has.  Block 128, grid any.
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @rotation(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %thread = call i32 @llvm.amdgcn.workitem.id.x()
  %workgroup = call i32 @llvm.amdgcn.workgroup.id.x()
  %first = shl i32 %workgroup, 7
  %index = add i32 %first, %thread
  %from = getelementptr i32, ptr addrspace(1) %in, i32 %index
  %value = load i32, ptr addrspace(1) %from, align 4
  %low = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
  %lane = call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %low)
  %after = add i32 %lane, 5
  %source = and i32 %after, 63
  %address = shl i32 %source, 2
  %moved = call i32 @llvm.amdgcn.ds.bpermute(i32 %address, i32 %value)
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %index
  store i32 %moved, ptr addrspace(1) %to, align 4
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32)
declare i32 @llvm.amdgcn.mbcnt.hi(i32, i32)
declare i32 @llvm.amdgcn.ds.bpermute(i32, i32)

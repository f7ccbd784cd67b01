; Each float plus twice its neighbour 32 places on, within runs of 128, and that twice in a row.  Between the signal
; and the wait of a barrier each thread doubles its own value.  Block 128, grid any.
target triple = "amdgcn-amd-amdhsa"

@run = internal addrspace(3) global [128 x float] undef, align 4

define amdgpu_kernel void @add_neighbours(ptr addrspace(1) %in, ptr addrspace(1) %out) {
begin:
  %thread = call i32 @llvm.amdgcn.workitem.id.x()
  %workgroup = call i32 @llvm.amdgcn.workgroup.id.x()
  %first = shl i32 %workgroup, 7
  %index = add i32 %first, %thread
  %from = getelementptr float, ptr addrspace(1) %in, i32 %index
  %initial = load float, ptr addrspace(1) %from, align 4
  %after = add i32 %thread, 32
  %neighbour = and i32 %after, 127
  %own_place = getelementptr float, ptr addrspace(3) @run, i32 %thread
  %place = getelementptr float, ptr addrspace(3) @run, i32 %neighbour
  br label %round

round:
  %is_first = phi i1 [ true, %begin ], [ false, %round ]
  %value = phi float [ %initial, %begin ], [ %sum, %round ]
  %half = fmul float %value, 5.000000e-01
  store float %value, ptr addrspace(3) %own_place, align 4
  call void @llvm.amdgcn.s.barrier.signal(i32 -1)
  %scaled = fmul float %half, 2.000000e+00
  call void @llvm.amdgcn.s.barrier.wait(i16 -1)
  %other = load float, ptr addrspace(3) %place, align 4
  call void @llvm.amdgcn.s.barrier.signal(i32 -1)
  %doubled = fmul float %other, 2.000000e+00
  %sum = fadd float %scaled, %doubled
  call void @llvm.amdgcn.s.barrier.wait(i16 -1)
  br i1 %is_first, label %round, label %end

end:
  %to = getelementptr float, ptr addrspace(1) %out, i32 %index
  store float %sum, ptr addrspace(1) %to, align 4
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare void @llvm.amdgcn.s.barrier.signal(i32)
declare void @llvm.amdgcn.s.barrier.wait(i16)

; out[i] = in[i]² with each run of 32 reversed.  Warp 0 fetches runs into shared memory, warp 1 works on them; they
; meet at barriers 1 (a run is there) and 2 (the place is free again).
; Block 64, grid any; each workgroup has `runs` runs.
target triple = "nvptx64-nvidia-cuda"

@run = internal addrspace(3) global [32 x float] undef, align 4

define ptx_kernel void @square_and_reverse(ptr addrspace(1) %in, ptr addrspace(1) %out, i32 %runs) {
begin:
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %workgroup = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %lane = and i32 %thread, 31
  %size = shl i32 %runs, 5
  %skipped = mul i32 %workgroup, %size
  %end_of_runs = add i32 %skipped, %size
  %place = getelementptr float, ptr addrspace(3) @run, i32 %lane
  %reversed_lane = sub i32 31, %lane
  %reversed_place = getelementptr float, ptr addrspace(3) @run, i32 %reversed_lane
  %is_producer = icmp ult i32 %thread, 32
  br i1 %is_producer, label %produce, label %begin_consuming

produce:
  %fetched = phi i32 [ %skipped, %begin ], [ %next_fetched, %produce ]
  %next_fetched = add i32 %fetched, 32
  %in_index = add i32 %fetched, %lane
  %from = getelementptr float, ptr addrspace(1) %in, i32 %in_index
  %value = load float, ptr addrspace(1) %from, align 4
  call void @llvm.nvvm.barrier.cta.sync.count(i32 2, i32 64)
  store float %value, ptr addrspace(3) %place, align 4
  call void @llvm.nvvm.barrier.cta.arrive.count(i32 1, i32 64)
  %has_more = icmp ult i32 %next_fetched, %end_of_runs
  br i1 %has_more, label %produce, label %end_producing

end_producing:
  call void @llvm.nvvm.barrier.cta.sync.count(i32 2, i32 64)
  ret void

begin_consuming:
  call void @llvm.nvvm.barrier.cta.arrive.count(i32 2, i32 64)
  br label %consume

consume:
  %used = phi i32 [ %skipped, %begin_consuming ], [ %next_used, %consume ]
  %next_used = add i32 %used, 32
  call void @llvm.nvvm.barrier.cta.sync.count(i32 1, i32 64)
  %taken = load float, ptr addrspace(3) %reversed_place, align 4
  call void @llvm.nvvm.barrier.cta.arrive.count(i32 2, i32 64)
  %square = fmul float %taken, %taken
  %out_index = add i32 %used, %lane
  %to = getelementptr float, ptr addrspace(1) %out, i32 %out_index
  store float %square, ptr addrspace(1) %to, align 4
  %has_more_to_use = icmp ult i32 %next_used, %end_of_runs
  br i1 %has_more_to_use, label %consume, label %end

end:
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.count(i32, i32)
declare void @llvm.nvvm.barrier.cta.arrive.count(i32, i32)

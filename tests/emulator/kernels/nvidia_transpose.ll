; out[x][y] = in[y][x], in tiles of 16×16 floats that pass through shared memory.
; Block (16, 16), grid (columns / 16, rows / 16).
target triple = "nvptx64-nvidia-cuda"

@tile = internal addrspace(3) global [16 x [17 x float]] undef, align 4

define ptx_kernel void @transpose(ptr addrspace(1) %in, ptr addrspace(1) %out, i32 %rows, i32 %columns) {
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %tile_x = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %tile_y = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %first_x = shl i32 %tile_x, 4
  %first_y = shl i32 %tile_y, 4

  %in_x = add i32 %first_x, %x
  %in_y = add i32 %first_y, %y
  %in_row = mul i32 %in_y, %columns
  %in_index = add i32 %in_row, %in_x
  %from = getelementptr float, ptr addrspace(1) %in, i32 %in_index
  %value = load float, ptr addrspace(1) %from, align 4
  %place = getelementptr [16 x [17 x float]], ptr addrspace(3) @tile, i32 0, i32 %y, i32 %x
  store float %value, ptr addrspace(3) %place, align 4
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)

  %out_x = add i32 %first_y, %x
  %out_y = add i32 %first_x, %y
  %out_row = mul i32 %out_y, %rows
  %out_index = add i32 %out_row, %out_x
  %to = getelementptr float, ptr addrspace(1) %out, i32 %out_index
  %turned = getelementptr [16 x [17 x float]], ptr addrspace(3) @tile, i32 0, i32 %x, i32 %y
  %moved = load float, ptr addrspace(3) %turned, align 4
  store float %moved, ptr addrspace(1) %to, align 4
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)

; C = A · B with A 16×depth, B depth×16 (f16) and C 16×16 (f32), for each workgroup its own.
; Tiles of 16×16 of A and B come to shared memory by asynchronous copies, one step ahead of the products; two
; warps share A and have eight columns of B each.  Block 64; depth is a multiple of 16.
target triple = "nvptx64-nvidia-cuda"

@a_tiles = internal addrspace(3) global [2 x [16 x [16 x half]]] undef, align 16
@b_tiles = internal addrspace(3) global [2 x [16 x [16 x half]]] undef, align 16

define ptx_kernel void @matmul(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c, i32 %depth) {
begin:
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %workgroup = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %lane = and i32 %thread, 31
  %warp = lshr i32 %thread, 5
  %size = shl i32 %depth, 4
  %skipped = mul i32 %workgroup, %size
  %own_a = getelementptr half, ptr addrspace(1) %a, i32 %skipped
  %own_b = getelementptr half, ptr addrspace(1) %b, i32 %skipped
  ; Each thread copies four elements of a tile: row thread / 4, columns 4 (thread % 4) and on.
  %copy_row = lshr i32 %thread, 2
  %copy_part = and i32 %thread, 3
  %copy_column = shl i32 %copy_part, 2
  ; Lane l reads for ldmatrix row l % 16; lanes 16 to 31 the right half of A.
  %matrix_row = and i32 %lane, 15
  %matrix_half = lshr i32 %lane, 4
  %a_column = shl i32 %matrix_half, 3
  %b_column = shl i32 %warp, 3
  call void @copy_tiles(ptr addrspace(1) %own_a, ptr addrspace(1) %own_b, i32 0, i32 0, i32 %depth, i32 %copy_row, i32 %copy_column)
  br label %step

step:
  %k = phi i32 [ 0, %begin ], [ %next_k, %multiply ]
  %stage = phi i32 [ 0, %begin ], [ %next_stage, %multiply ]
  %c0 = phi float [ 0.0, %begin ], [ %d0, %multiply ]
  %c1 = phi float [ 0.0, %begin ], [ %d1, %multiply ]
  %c2 = phi float [ 0.0, %begin ], [ %d2, %multiply ]
  %c3 = phi float [ 0.0, %begin ], [ %d3, %multiply ]
  %next_k = add i32 %k, 16
  %next_stage = xor i32 %stage, 1
  %has_next = icmp slt i32 %next_k, %depth
  br i1 %has_next, label %prefetch, label %last

prefetch:
  call void @copy_tiles(ptr addrspace(1) %own_a, ptr addrspace(1) %own_b, i32 %next_stage, i32 %next_k, i32 %depth, i32 %copy_row, i32 %copy_column)
  call void @llvm.nvvm.cp.async.wait.group(i32 1)
  br label %multiply

last:
  call void @llvm.nvvm.cp.async.wait.group(i32 0)
  br label %multiply

multiply:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %a_place = getelementptr [2 x [16 x [16 x half]]], ptr addrspace(3) @a_tiles, i32 0, i32 %stage, i32 %matrix_row, i32 %a_column
  %b_place = getelementptr [2 x [16 x [16 x half]]], ptr addrspace(3) @b_tiles, i32 0, i32 %stage, i32 %matrix_row, i32 %b_column
  %as = call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %a_place)
  %bs = call { i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.trans.b16.p3(ptr addrspace(3) %b_place)
  %a0_bits = extractvalue { i32, i32, i32, i32 } %as, 0
  %a1_bits = extractvalue { i32, i32, i32, i32 } %as, 1
  %a2_bits = extractvalue { i32, i32, i32, i32 } %as, 2
  %a3_bits = extractvalue { i32, i32, i32, i32 } %as, 3
  %b0_bits = extractvalue { i32, i32 } %bs, 0
  %b1_bits = extractvalue { i32, i32 } %bs, 1
  %a0 = bitcast i32 %a0_bits to <2 x half>
  %a1 = bitcast i32 %a1_bits to <2 x half>
  %a2 = bitcast i32 %a2_bits to <2 x half>
  %a3 = bitcast i32 %a3_bits to <2 x half>
  %b0 = bitcast i32 %b0_bits to <2 x half>
  %b1 = bitcast i32 %b1_bits to <2 x half>
  %d = call { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.f32.f32(<2 x half> %a0, <2 x half> %a1, <2 x half> %a2, <2 x half> %a3, <2 x half> %b0, <2 x half> %b1, float %c0, float %c1, float %c2, float %c3)
  %d0 = extractvalue { float, float, float, float } %d, 0
  %d1 = extractvalue { float, float, float, float } %d, 1
  %d2 = extractvalue { float, float, float, float } %d, 2
  %d3 = extractvalue { float, float, float, float } %d, 3
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 1)
  br i1 %has_next, label %step, label %write

write:
  ; Lane l has columns 2 (l % 4) and the next, in rows l / 4 and l / 4 + 8.
  %c_row = lshr i32 %lane, 2
  %c_pair = and i32 %lane, 3
  %c_in_tile = shl i32 %c_pair, 1
  %c_column = add i32 %c_in_tile, %b_column
  %c_skipped = shl i32 %workgroup, 8
  %own_c = getelementptr float, ptr addrspace(1) %c, i32 %c_skipped
  %upper = getelementptr [16 x float], ptr addrspace(1) %own_c, i32 %c_row, i32 %c_column
  %lower = getelementptr [16 x float], ptr addrspace(1) %upper, i32 8
  %upper_right = getelementptr float, ptr addrspace(1) %upper, i32 1
  %lower_right = getelementptr float, ptr addrspace(1) %lower, i32 1
  store float %d0, ptr addrspace(1) %upper, align 4
  store float %d1, ptr addrspace(1) %upper_right, align 4
  store float %d2, ptr addrspace(1) %lower, align 4
  store float %d3, ptr addrspace(1) %lower_right, align 4
  ret void
}

; Start copies of the tiles of A and B that begin at k, as one group.
define internal void @copy_tiles(ptr addrspace(1) %a, ptr addrspace(1) %b, i32 %stage, i32 %k, i32 %depth, i32 %row, i32 %column) {
  %a_row = mul i32 %row, %depth
  %a_column = add i32 %k, %column
  %a_index = add i32 %a_row, %a_column
  %a_from = getelementptr half, ptr addrspace(1) %a, i32 %a_index
  %b_row = add i32 %k, %row
  %b_from = getelementptr [16 x half], ptr addrspace(1) %b, i32 %b_row, i32 %column
  %a_to = getelementptr [2 x [16 x [16 x half]]], ptr addrspace(3) @a_tiles, i32 0, i32 %stage, i32 %row, i32 %column
  %b_to = getelementptr [2 x [16 x [16 x half]]], ptr addrspace(3) @b_tiles, i32 0, i32 %stage, i32 %row, i32 %column
  call void @llvm.nvvm.cp.async.ca.shared.global.8(ptr addrspace(3) %a_to, ptr addrspace(1) %a_from)
  call void @llvm.nvvm.cp.async.ca.shared.global.8(ptr addrspace(3) %b_to, ptr addrspace(1) %b_from)
  call void @llvm.nvvm.cp.async.commit.group()
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.cp.async.ca.shared.global.8(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.commit.group()
declare void @llvm.nvvm.cp.async.wait.group(i32)
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3))
declare { i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.trans.b16.p3(ptr addrspace(3))
declare { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.f32.f32(<2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, float, float, float, float)

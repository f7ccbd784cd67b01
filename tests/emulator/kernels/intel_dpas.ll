; C = A · B with A rows×32 and B 32×16 (f16) and C rows×16 (f32), eight rows a sub-group, by 2-D block messages and
; matrix instructions.  Block 16, grid such that it covers all rows; what is past the last row reads as 0 and is not
; written.
target triple = "spir64-unknown-unknown"

define spir_kernel void @matmul(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c, i32 %rows) {
begin:
  %a_tile = alloca [8 x i16], align 32
  %b_tile = alloca [8 x i32], align 32
  %c_tile = alloca [8 x i32], align 32
  %group = call i64 @_Z12get_group_idj(i32 0)
  %group_number = trunc i64 %group to i32
  %first_row = shl i32 %group_number, 3
  br label %step

step:
  %k = phi i32 [ 0, %begin ], [ %next_k, %step ]
  %sum = phi <8 x float> [ zeroinitializer, %begin ], [ %next_sum, %step ]
  %a_column = insertelement <2 x i32> zeroinitializer, i32 %k, i32 0
  %a_place = insertelement <2 x i32> %a_column, i32 %first_row, i32 1
  %b_place = insertelement <2 x i32> zeroinitializer, i32 %k, i32 1
  call void @_Z41intel_sub_group_2d_block_read_16b_8r16x1cPU3AS1viiiDv2_iPt(ptr addrspace(1) %a, i32 64, i32 %rows, i32 64, <2 x i32> %a_place, ptr %a_tile)
  call void @_Z52intel_sub_group_2d_block_read_transform_16b_16r16x1cPU3AS1viiiDv2_iPj(ptr addrspace(1) %b, i32 64, i32 32, i32 64, <2 x i32> %b_place, ptr %b_tile)
  %a_values = load <8 x i16>, ptr %a_tile, align 16
  %b_values = load <8 x i32>, ptr %b_tile, align 32
  %next_sum = call <8 x float> @_Z38intel_sub_group_f16_f16_matrix_mad_k16Dv8_sDv8_iDv8_f(<8 x i16> %a_values, <8 x i32> %b_values, <8 x float> %sum)
  %next_k = add i32 %k, 16
  %has_more = icmp slt i32 %next_k, 32
  br i1 %has_more, label %step, label %write

write:
  %bits = bitcast <8 x float> %next_sum to <8 x i32>
  store <8 x i32> %bits, ptr %c_tile, align 32
  %c_place = insertelement <2 x i32> zeroinitializer, i32 %first_row, i32 1
  call void @_Z42intel_sub_group_2d_block_write_32b_8r16x1cPU3AS1viiiDv2_iPj(ptr addrspace(1) %c, i32 64, i32 %rows, i32 64, <2 x i32> %c_place, ptr %c_tile)
  ret void
}

declare i64 @_Z12get_group_idj(i32)
declare void @_Z41intel_sub_group_2d_block_read_16b_8r16x1cPU3AS1viiiDv2_iPt(ptr addrspace(1), i32, i32, i32, <2 x i32>, ptr)
declare void @_Z52intel_sub_group_2d_block_read_transform_16b_16r16x1cPU3AS1viiiDv2_iPj(ptr addrspace(1), i32, i32, i32, <2 x i32>, ptr)
declare void @_Z42intel_sub_group_2d_block_write_32b_8r16x1cPU3AS1viiiDv2_iPj(ptr addrspace(1), i32, i32, i32, <2 x i32>, ptr)
declare <8 x float> @_Z38intel_sub_group_f16_f16_matrix_mad_k16Dv8_sDv8_iDv8_f(<8 x i16>, <8 x i32>, <8 x float>)

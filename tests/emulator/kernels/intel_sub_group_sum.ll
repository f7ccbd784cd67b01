; out[i] = the sum of the 16 floats that in[i] is one of, by shuffles within a sub-group.  Block 32, grid any.
target triple = "spir64-unknown-unknown"

define spir_kernel void @sub_group_sum(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %local = call i64 @_Z12get_local_idj(i32 0)
  %group = call i64 @_Z12get_group_idj(i32 0)
  %first = shl i64 %group, 5
  %index = add i64 %first, %local
  %from = getelementptr float, ptr addrspace(1) %in, i64 %index
  %value = load float, ptr addrspace(1) %from, align 4
  %other_8 = call float @_Z21sub_group_shuffle_xorfj(float %value, i32 8)
  %sum_2 = fadd float %value, %other_8
  %other_4 = call float @_Z21sub_group_shuffle_xorfj(float %sum_2, i32 4)
  %sum_4 = fadd float %sum_2, %other_4
  %other_2 = call float @_Z21sub_group_shuffle_xorfj(float %sum_4, i32 2)
  %sum_8 = fadd float %sum_4, %other_2
  %other_1 = call float @_Z21sub_group_shuffle_xorfj(float %sum_8, i32 1)
  %sum_16 = fadd float %sum_8, %other_1
  %to = getelementptr float, ptr addrspace(1) %out, i64 %index
  store float %sum_16, ptr addrspace(1) %to, align 4
  ret void
}

declare i64 @_Z12get_local_idj(i32)
declare i64 @_Z12get_group_idj(i32)
declare float @_Z21sub_group_shuffle_xorfj(float, i32)

; out = in with neighbours exchanged twice over: each sub-group swaps pairs of its own lanes in local memory, then the
; work-group exchanges its halves.  Block 32, grid any.
target triple = "spir64-unknown-unknown"

@places = internal addrspace(3) global [32 x i32] undef, align 4

define spir_kernel void @exchange(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %local = call i64 @_Z12get_local_idj(i32 0)
  %group = call i64 @_Z12get_group_idj(i32 0)
  %first = shl i64 %group, 5
  %index = add i64 %first, %local
  %from = getelementptr i32, ptr addrspace(1) %in, i64 %index
  %value = load i32, ptr addrspace(1) %from, align 4
  %own_place = getelementptr i32, ptr addrspace(3) @places, i64 %local
  store i32 %value, ptr addrspace(3) %own_place, align 4
  call void @_Z17sub_group_barrierj(i32 1)
  %pair = xor i64 %local, 1
  %pair_place = getelementptr i32, ptr addrspace(3) @places, i64 %pair
  %of_pair = load i32, ptr addrspace(3) %pair_place, align 4
  call void @_Z17sub_group_barrierj(i32 2)
  store i32 %of_pair, ptr addrspace(3) %own_place, align 4
  call void @_Z7barrierj(i32 1)
  %opposite = xor i64 %local, 16
  %opposite_place = getelementptr i32, ptr addrspace(3) @places, i64 %opposite
  %of_opposite = load i32, ptr addrspace(3) %opposite_place, align 4
  %to = getelementptr i32, ptr addrspace(1) %out, i64 %index
  store i32 %of_opposite, ptr addrspace(1) %to, align 4
  ret void
}

declare i64 @_Z12get_local_idj(i32)
declare i64 @_Z12get_group_idj(i32)
declare void @_Z17sub_group_barrierj(i32)
declare void @_Z7barrierj(i32)

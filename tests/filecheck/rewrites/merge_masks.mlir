// REWRITE: merge-masks
// The second mask looks at columns, its dimension 1, from the same offset as the first one's dimension 2.  Its
// inequality and its symbol follow those of the first.
#causal = affine_map<(d0, d1, d2)[s0] -> (d1 - d2 + s0)>
#length = affine_map<(d0, d1)[s0] -> (s0 - d1 - 1)>

// CHECK: [[BOTH:#\w+]] = affine_map<(d0, d1, d2)[s0, s1] -> (d1 - d2 + s0, -d2 + s1 - 1)>
// CHECK: "attn.mask"(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5)
// CHECK-SAME: dimensions = array<i64: 1, 2>, fill = 0xFF800000 : f32, visible = [[BOTH]]
// CHECK-NOT: attn.mask
func.func @masked(%x: tensor<4x8xf32>, %head: index, %row: index, %column: index, %shift: index, %length: index)
    -> tensor<4x8xf32> {
  %c0 = arith.constant 0 : index
  %first = "attn.mask"(%x, %head, %row, %column, %shift)
      {visible = #causal, dimensions = array<i64: 1, 2>, fill = 0xFF800000 : f32}
      : (tensor<4x8xf32>, index, index, index, index) -> tensor<4x8xf32>
  %second = "attn.mask"(%first, %c0, %column, %length)
      {visible = #length, dimensions = array<i64: 0, 1>, fill = 0xFF800000 : f32}
      : (tensor<4x8xf32>, index, index, index) -> tensor<4x8xf32>
  return %second : tensor<4x8xf32>
}

// REWRITE: decompose
// Both bounds of a row hold for all leading dimensions; columns count from the offset.

// CHECK-DAG: [[ROWS:#\w+]] = affine_map<(d0, d1, d2) -> (d1)>
// CHECK-DAG: [[ALL:#\w+]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK: [[OFFSET:%\w+]] = arith.index_cast %arg3 : index to i32
// CHECK: linalg.generic {indexing_maps = {{\[}}[[ROWS]], [[ROWS]], [[ALL]]]{{.*}} ins(%arg1, %arg2 {{.*}} outs(%arg0
// CHECK: ([[FIRST:%\w+]]: i32, [[END:%\w+]]: i32, [[ELEMENT:%\w+]]: f32):
// CHECK: linalg.index 2
// CHECK: [[COLUMN:%\w+]] = arith.addi {{%\w+}}, [[OFFSET]]
// CHECK-DAG: [[FROM:%\w+]] = arith.cmpi sge, [[COLUMN]], [[FIRST]]
// CHECK-DAG: [[BEFORE:%\w+]] = arith.cmpi slt, [[COLUMN]], [[END]]
// CHECK: [[VISIBLE:%\w+]] = arith.andi [[FROM]], [[BEFORE]]
// CHECK: arith.select [[VISIBLE]], [[ELEMENT]],
func.func @masked(%x: tensor<2x4x8xf32>, %first: tensor<4xi32>, %end: tensor<4xi32>, %column: index)
    -> tensor<2x4x8xf32> {
  %masked = "attn.row_mask"(%x, %first, %end, %column) {fill = 0xFF800000 : f32, root}
      : (tensor<2x4x8xf32>, tensor<4xi32>, tensor<4xi32>, index) -> tensor<2x4x8xf32>
  return %masked : tensor<2x4x8xf32>
}

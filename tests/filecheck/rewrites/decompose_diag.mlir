// REWRITE: decompose

// CHECK-DAG: [[ROWS:#\w+]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: [[ALL:#\w+]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK: linalg.generic {indexing_maps = {{\[}}[[ROWS]], [[ALL]]]{{.*}} ins(%arg0 {{.*}} outs(%arg1
// CHECK: ([[ELEMENT:%\w+]]: f32, {{%\w+}}: f32):
// CHECK: [[ROW:%\w+]] = linalg.index 1
// CHECK: [[COLUMN:%\w+]] = linalg.index 2
// CHECK: [[ON_DIAGONAL:%\w+]] = arith.cmpi eq
// CHECK: [[ZERO:%\w+]] = arith.constant 0.0
// CHECK: arith.select [[ON_DIAGONAL]], [[ELEMENT]], [[ZERO]]
func.func @diagonal(%x: tensor<2x4xf32>, %out: tensor<2x4x4xf32>) -> tensor<2x4x4xf32> {
  %matrix = "attn.diag"(%x, %out) {root} : (tensor<2x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  return %matrix : tensor<2x4x4xf32>
}

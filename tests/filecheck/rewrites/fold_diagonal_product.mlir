// REWRITE: fold-diagonal-products
// A product with a diagonal matrix from the left multiplies rows; neither the matrix nor the zeros are left.

// CHECK-DAG: [[ROWS:#\w+]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: [[ALL:#\w+]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-NOT: attn.
// CHECK-NOT: linalg.fill
// CHECK: linalg.generic {indexing_maps = {{\[}}[[ROWS]], [[ALL]]]{{.*}} ins(%arg0 : {{.*}}) outs(%arg1 :
// CHECK: ([[FACTOR:%\w+]]: f32, [[ELEMENT:%\w+]]: f32):
// CHECK-NEXT: [[PRODUCT:%\w+]] = arith.mulf [[FACTOR]], [[ELEMENT]]
// CHECK-NEXT: linalg.yield [[PRODUCT]]
func.func @rescaled(%s: tensor<2x8xf32>, %x: tensor<2x8x4xf32>) -> tensor<2x8x4xf32> {
  %zero = arith.constant 0.0 : f32
  %square = tensor.empty() : tensor<2x8x8xf32>
  %wide = tensor.empty() : tensor<2x8x4xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%wide : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %diagonal = "attn.diag"(%s, %square) : (tensor<2x8xf32>, tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %product = "attn.batch_matmul"(%diagonal, %x, %zeros) {layout = "nn"}
      : (tensor<2x8x8xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %product : tensor<2x8x4xf32>
}

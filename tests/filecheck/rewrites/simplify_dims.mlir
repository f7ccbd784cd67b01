// REWRITE: simplify-dims
// Sizes come from arguments: through the initial value of the product, and through a pad with what it adds.

// CHECK-DAG: [[BEFORE:#\w+]] = affine_map<(d0) -> (d0 + 1)>
// CHECK-DAG: [[AFTER:#\w+]] = affine_map<(d0) -> (d0 + 2)>
// CHECK: [[ROWS:%\w+]] = tensor.dim %arg0, %c0
// CHECK: [[COLUMNS:%\w+]] = tensor.dim %arg1, %c0
// CHECK-NOT: tensor.dim
// CHECK: [[LONGER:%\w+]] = affine.apply [[BEFORE]]([[COLUMNS]])
// CHECK: [[LONGEST:%\w+]] = affine.apply [[AFTER]]([[LONGER]])
// CHECK: [[WIDTH:%\w+]] = arith.constant 4 : index
// CHECK: return [[ROWS]], [[COLUMNS]], [[LONGEST]], [[WIDTH]]
func.func @sizes(%x: tensor<?x4xf32>, %k: tensor<?x4xf32>) -> (index, index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = tensor.dim %x, %c0 : tensor<?x4xf32>
  %columns = tensor.dim %k, %c0 : tensor<?x4xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty(%rows, %columns) : tensor<?x?xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x?xf32>) -> tensor<?x?xf32>
  %score = "attn.batch_matmul"(%x, %k, %zeros) {layout = "nt"}
      : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  %padded = tensor.pad %score low[0, 1] high[0, 2] {
  ^bb0(%row: index, %column: index):
    tensor.yield %zero : f32
  } : tensor<?x?xf32> to tensor<?x?xf32>
  %a = tensor.dim %score, %c0 : tensor<?x?xf32>
  %b = tensor.dim %score, %c1 : tensor<?x?xf32>
  %c = tensor.dim %padded, %c1 : tensor<?x?xf32>
  %d = tensor.dim %x, %c1 : tensor<?x4xf32>
  return %a, %b, %c, %d : index, index, index, index
}

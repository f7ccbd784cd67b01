// REWRITE: decompose-pads
// A fill of the whole, into which the source is inserted behind the low padding.

// CHECK-DAG: [[LOW:#\w+]] = affine_map<(d0) -> (d0 + 2)>
// CHECK-DAG: [[SUM:#\w+]] = affine_map<(d0, d1) -> (d0 + d1)>
// CHECK: [[ROWS:%\w+]] = tensor.dim %arg0, %c0
// CHECK: [[BEGINNING:%\w+]] = affine.apply [[LOW]]([[ROWS]])
// CHECK: [[SIZE:%\w+]] = affine.apply [[SUM]]([[BEGINNING]], %arg2)
// CHECK: [[EMPTY:%\w+]] = tensor.empty([[SIZE]]) : tensor<?x8xf32>
// CHECK: [[FILLED:%\w+]] = linalg.fill ins(%arg1 : f32) outs([[EMPTY]] :
// CHECK: tensor.insert_slice %arg0 into [[FILLED]][2, 0] {{\[}}[[ROWS]], 5]
// CHECK-NOT: tensor.pad
func.func @padded(%x: tensor<?x5xf32>, %value: f32, %high: index) -> tensor<?x8xf32> {
  %padded = tensor.pad %x low[2, 0] high[%high, 3] {
  ^bb0(%row: index, %column: index):
    tensor.yield %value : f32
  } : tensor<?x5xf32> to tensor<?x8xf32>
  return %padded : tensor<?x8xf32>
}

// REWRITE: tile-and-fuse sizes=2,0
// A stop operation is computed once, outside; the loop takes tiles of its result.  What lies between is fused.

// CHECK: [[EXPONENTIAL:%\w+]] = linalg.exp ins(%arg0 : tensor<8x4xf32>)
// CHECK: scf.for [[ROW:%\w+]] = %c0
// CHECK: [[TILE:%\w+]] = tensor.extract_slice [[EXPONENTIAL]]{{\[}}[[ROW]], 0] [2, 4]
// CHECK: [[SQUARE:%\w+]] = linalg.square ins([[TILE]] : tensor<2x4xf32>)
// CHECK: linalg.negf ins([[SQUARE]] : tensor<2x4xf32>)
func.func @chain(%x: tensor<8x4xf32>, %out: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %empty = tensor.empty() : tensor<8x4xf32>
  %between = tensor.empty() : tensor<8x4xf32>
  %exponential = linalg.exp {stop} ins(%x : tensor<8x4xf32>) outs(%empty : tensor<8x4xf32>) -> tensor<8x4xf32>
  %square = linalg.square ins(%exponential : tensor<8x4xf32>) outs(%between : tensor<8x4xf32>) -> tensor<8x4xf32>
  %negated = linalg.negf {root} ins(%square : tensor<8x4xf32>) outs(%out : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %negated : tensor<8x4xf32>
}

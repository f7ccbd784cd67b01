// REWRITE: tile-and-fuse sizes=3,0
// Three of the twelve heads may belong to two groups of four, which is not one tile of the source: what is
// collapsed stays outside.

// CHECK: [[EXPONENTIAL:%\w+]] = linalg.exp ins(%arg0 : tensor<3x4x5xf32>)
// CHECK: [[JOINED:%\w+]] = tensor.collapse_shape [[EXPONENTIAL]]
// CHECK: scf.for [[HEAD:%\w+]] = %c0 to %c12 step %c3
// CHECK: tensor.extract_slice [[JOINED]]{{\[}}[[HEAD]], 0] [3, 5]
func.func @heads(%x: tensor<3x4x5xf32>) -> tensor<12x5xf32> {
  %deep = tensor.empty() : tensor<3x4x5xf32>
  %empty = tensor.empty() : tensor<12x5xf32>
  %exponential = linalg.exp ins(%x : tensor<3x4x5xf32>) outs(%deep : tensor<3x4x5xf32>) -> tensor<3x4x5xf32>
  %joined = tensor.collapse_shape %exponential [[0, 1], [2]] : tensor<3x4x5xf32> into tensor<12x5xf32>
  %negated = linalg.negf {root} ins(%joined : tensor<12x5xf32>) outs(%empty : tensor<12x5xf32>) -> tensor<12x5xf32>
  return %negated : tensor<12x5xf32>
}

// REWRITE: tile-and-fuse sizes=2,0
// Two of the twelve heads are half of a group of four.

// CHECK-DAG: [[GROUPS:#\w+]] = affine_map<(d0) -> (d0 floordiv 4)>
// CHECK-DAG: [[REST:#\w+]] = affine_map<(d0) -> (d0 mod 4)>
// CHECK-NOT: linalg
// CHECK: scf.for [[HEAD:%\w+]] = %c0 to %c12 step %c2
// CHECK-DAG: [[GROUP:%\w+]] = affine.apply [[GROUPS]]([[HEAD]])
// CHECK-DAG: [[MEMBER:%\w+]] = affine.apply [[REST]]([[HEAD]])
// CHECK: [[X:%\w+]] = tensor.extract_slice %arg0{{\[}}[[GROUP]], [[MEMBER]], 0] [1, 2, 5]
// CHECK: [[EXPONENTIAL:%\w+]] = linalg.exp ins([[X]] : tensor<1x2x5xf32>)
// CHECK: [[JOINED:%\w+]] = tensor.collapse_shape [[EXPONENTIAL]] {{.*}} into tensor<2x5xf32>
// CHECK: linalg.negf ins([[JOINED]] : tensor<2x5xf32>)
func.func @heads(%x: tensor<3x4x5xf32>) -> tensor<12x5xf32> {
  %deep = tensor.empty() : tensor<3x4x5xf32>
  %empty = tensor.empty() : tensor<12x5xf32>
  %exponential = linalg.exp ins(%x : tensor<3x4x5xf32>) outs(%deep : tensor<3x4x5xf32>) -> tensor<3x4x5xf32>
  %joined = tensor.collapse_shape %exponential [[0, 1], [2]] : tensor<3x4x5xf32> into tensor<12x5xf32>
  %negated = linalg.negf {root} ins(%joined : tensor<12x5xf32>) outs(%empty : tensor<12x5xf32>) -> tensor<12x5xf32>
  return %negated : tensor<12x5xf32>
}

// REWRITE: tile-and-fuse sizes=0,1,0
// A tile of one head is four columns of the source.

// CHECK: [[COLUMNS:#\w+]] = affine_map<(d0) -> (d0 * 4)>
// CHECK-NOT: linalg
// CHECK: scf.for [[HEAD:%\w+]] = %c0 to %c3 step %c1
// CHECK: [[COLUMN:%\w+]] = affine.apply [[COLUMNS]]([[HEAD]])
// CHECK: [[X:%\w+]] = tensor.extract_slice %arg0[0, [[COLUMN]]] [5, 4]
// CHECK: [[EXPONENTIAL:%\w+]] = linalg.exp ins([[X]] : tensor<5x4xf32>)
// CHECK: [[SPLIT:%\w+]] = tensor.expand_shape [[EXPONENTIAL]] {{.*}} : tensor<5x4xf32> into tensor<5x1x4xf32>
// CHECK: linalg.negf ins([[SPLIT]] : tensor<5x1x4xf32>)
func.func @heads(%x: tensor<5x12xf32>) -> tensor<5x3x4xf32> {
  %wide = tensor.empty() : tensor<5x12xf32>
  %empty = tensor.empty() : tensor<5x3x4xf32>
  %exponential = linalg.exp ins(%x : tensor<5x12xf32>) outs(%wide : tensor<5x12xf32>) -> tensor<5x12xf32>
  %split = tensor.expand_shape %exponential [[0], [1, 2]] output_shape [5, 3, 4]
      : tensor<5x12xf32> into tensor<5x3x4xf32>
  %negated = linalg.negf {root} ins(%split : tensor<5x3x4xf32>)
      outs(%empty : tensor<5x3x4xf32>) -> tensor<5x3x4xf32>
  return %negated : tensor<5x3x4xf32>
}

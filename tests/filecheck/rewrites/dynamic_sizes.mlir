// REWRITE: tile-and-fuse sizes=4,0
// The second producer's size is followed to the argument it comes from, so that asking for it does not keep the
// exponential outside.

// CHECK-DAG: [[LEFT:#\w+]] = affine_map<(d0, d1) -> (d0 - d1)>
// CHECK-DAG: [[AT_MOST_4:#\w+]] = affine_map<(d0) -> (d0, 4)>
// CHECK: [[ROWS:%\w+]] = tensor.dim %arg0, %c0
// CHECK-NOT: linalg
// CHECK-NOT: tensor.dim
// CHECK: scf.for [[ROW:%\w+]] = {{.*}} to [[ROWS]] step %c4
// CHECK: [[REST:%\w+]] = affine.apply [[LEFT]]([[ROWS]], [[ROW]])
// CHECK: [[SIZE:%\w+]] = affine.min [[AT_MOST_4]]([[REST]])
// CHECK: [[X:%\w+]] = tensor.extract_slice %arg0{{\[}}[[ROW]], 0] {{\[}}[[SIZE]], 4]
// CHECK: [[EXPONENTIAL:%\w+]] = linalg.exp ins([[X]] : tensor<?x4xf32>)
// CHECK: linalg.negf ins([[EXPONENTIAL]] : tensor<?x4xf32>)
func.func @chain(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x4xf32>
  %empty = tensor.empty(%rows) : tensor<?x4xf32>
  %exponential = linalg.exp ins(%x : tensor<?x4xf32>) outs(%empty : tensor<?x4xf32>) -> tensor<?x4xf32>
  %same_rows = tensor.dim %exponential, %c0 : tensor<?x4xf32>
  %out = tensor.empty(%same_rows) : tensor<?x4xf32>
  %negated = linalg.negf {root} ins(%exponential : tensor<?x4xf32>)
      outs(%out : tensor<?x4xf32>) -> tensor<?x4xf32>
  return %negated : tensor<?x4xf32>
}

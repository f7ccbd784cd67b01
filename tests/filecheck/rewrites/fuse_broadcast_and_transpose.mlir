// REWRITE: tile-and-fuse sizes=1,2,3 drop=0
// In tiles that lack the dimension along which something is broadcast or moved, nothing is left of the broadcast
// and of one of the transpositions.

// CHECK: scf.for [[PLANE:%\w+]] = {{.*}} to %c2 step %c1
// CHECK: scf.for [[ROW:%\w+]] = {{.*}} to %c8 step
// CHECK: scf.for [[COLUMN:%\w+]] = {{.*}} to %c6 step
// CHECK-NOT: linalg.broadcast
// CHECK: [[X:%\w+]] = tensor.extract_slice %arg0{{\[}}[[COLUMN]], [[ROW]]] [3, 2]
// CHECK: [[SPREAD:%\w+]] = linalg.transpose ins([[X]] : tensor<3x2xf32>) {{.*}} permutation = [1, 0]
// CHECK-NOT: linalg.transpose
// CHECK: [[MOVED:%\w+]] = tensor.extract_slice %arg1{{\[}}[[ROW]], [[COLUMN]], [[PLANE]]] [2, 3, 1]
// CHECK: linalg.generic {{.*}} ins([[SPREAD]], [[MOVED]] : tensor<2x3xf32>, tensor<2x3xf32>)
func.func @sum(%x: tensor<6x8xf32>, %y: tensor<8x6x2xf32>) -> tensor<2x8x6xf32> {
  %empty = tensor.empty() : tensor<2x8x6xf32>
  %between = tensor.empty() : tensor<8x6xf32>
  %turned = linalg.transpose ins(%x : tensor<6x8xf32>) outs(%between : tensor<8x6xf32>) permutation = [1, 0]
  %spread = linalg.broadcast ins(%turned : tensor<8x6xf32>) outs(%empty : tensor<2x8x6xf32>) dimensions = [0]
  %moved = linalg.transpose ins(%y : tensor<8x6x2xf32>) outs(%empty : tensor<2x8x6xf32>) permutation = [2, 0, 1]
  %sum = linalg.add {root} ins(%spread, %moved : tensor<2x8x6xf32>, tensor<2x8x6xf32>)
      outs(%empty : tensor<2x8x6xf32>) -> tensor<2x8x6xf32>
  return %sum : tensor<2x8x6xf32>
}

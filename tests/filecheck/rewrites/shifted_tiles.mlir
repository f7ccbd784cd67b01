// REWRITE: tile-and-fuse sizes=4,0,3
// The last tile is moved back to end with the dimension: all sizes are static.  In the reduction, factors that the
// tile before has seen are masked.

// CHECK-DAG: [[LAST_ROW:#\w+]] = affine_map<(d0) -> (d0, 6)>
// CHECK-DAG: [[LAST_COLUMN:#\w+]] = affine_map<(d0) -> (d0, 5)>
// CHECK-DAG: [[UNSEEN:#\w+]] = affine_map<(d0, d1)[s0] -> (d1 - s0)>
// CHECK: scf.for [[TILE:%\w+]] = %c0 to %c10 step %c4
// CHECK: [[ROW:%\w+]] = affine.min [[LAST_ROW]]([[TILE]])
// CHECK: scf.for [[STEP:%\w+]] = {{.*}} to %c8 step %c3
// CHECK: [[DEPTH:%\w+]] = affine.min [[LAST_COLUMN]]([[STEP]])
// CHECK: [[FACTOR:%\w+]] = tensor.extract_slice %arg0{{\[}}[[ROW]], [[DEPTH]]] [4, 3]
// CHECK: [[OTHER:%\w+]] = tensor.extract_slice %arg1{{\[}}[[DEPTH]], 0] [3, 5]
// CHECK: [[MASKED:%\w+]] = "attn.mask"([[FACTOR]], {{.*}}, [[DEPTH]], [[STEP]])
// CHECK-SAME: fill = 0.0{{.*}}, harness.ragged_tile, visible = [[UNSEEN]]
// CHECK: linalg.matmul ins([[MASKED]], [[OTHER]]
// CHECK: tensor.insert_slice {{.*}}{{\[}}[[ROW]], 0] [4, 5]
func.func @matmul(%a: tensor<10x8xf32>, %b: tensor<8x5xf32>) -> tensor<10x5xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<10x5xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<10x5xf32>) -> tensor<10x5xf32>
  %product = linalg.matmul {root} ins(%a, %b : tensor<10x8xf32>, tensor<8x5xf32>)
      outs(%zeros : tensor<10x5xf32>) -> tensor<10x5xf32>
  return %product : tensor<10x5xf32>
}

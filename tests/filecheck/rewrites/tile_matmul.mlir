// REWRITE: tile-and-fuse sizes=2,3,4
// One loop for each dimension, a slice of each operand, a product of tiles and an insertion.  What the reduction
// accumulates into is cut outside of it.

// CHECK: scf.for [[ROW:%\w+]] = %c0 to %c16 step %c2 iter_args([[FIRST:%\w+]] = %arg2) -> (tensor<16x33xf32>)
// CHECK: scf.for [[COLUMN:%\w+]] = {{.*}} to %c33 step %c3 iter_args([[SECOND:%\w+]] = [[FIRST]])
// CHECK: [[START:%\w+]] = tensor.extract_slice [[SECOND]]{{\[}}[[ROW]], [[COLUMN]]] [2, 3]
// CHECK: [[SUM:%\w+]] = scf.for [[DEPTH:%\w+]] = {{.*}} to %c8 step %c4
// CHECK-SAME: iter_args([[OLD:%\w+]] = [[START]]) -> (tensor<2x3xf32>)
// CHECK: [[LEFT:%\w+]] = tensor.extract_slice %arg0{{\[}}[[ROW]], [[DEPTH]]] [2, 4]
// CHECK: [[RIGHT:%\w+]] = tensor.extract_slice %arg1{{\[}}[[DEPTH]], [[COLUMN]]] [4, 3]
// CHECK: [[NEW:%\w+]] = linalg.matmul ins([[LEFT]], [[RIGHT]] : {{.*}}) outs([[OLD]] : tensor<2x3xf32>)
// CHECK: scf.yield [[NEW]]
// CHECK: [[WHOLE:%\w+]] = tensor.insert_slice [[SUM]] into [[SECOND]]{{\[}}[[ROW]], [[COLUMN]]] [2, 3]
// CHECK: scf.yield [[WHOLE]]
func.func @matmul(%a: tensor<16x8xf32>, %b: tensor<8x33xf32>, %c: tensor<16x33xf32>) -> tensor<16x33xf32> {
  %product = linalg.matmul {root} ins(%a, %b : tensor<16x8xf32>, tensor<8x33xf32>)
      outs(%c : tensor<16x33xf32>) -> tensor<16x33xf32>
  return %product : tensor<16x33xf32>
}

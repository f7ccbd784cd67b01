// REWRITE: tile-and-fuse sizes=2,0,4 interchange=2,1,0
// With the reduction outermost, all loops carry the whole result, and each step takes its rows out and puts them
// back.

// CHECK: scf.for [[DEPTH:%\w+]] = %c0 to %c8 step %c4 iter_args([[FIRST:%\w+]] = %arg2) -> (tensor<16x33xf32>)
// CHECK: scf.for [[ROW:%\w+]] = {{.*}} to %c16 step %c2 iter_args([[SECOND:%\w+]] = [[FIRST]]) -> (tensor<16x33xf32>)
// CHECK: [[OLD:%\w+]] = tensor.extract_slice [[SECOND]]{{\[}}[[ROW]], 0] [2, 33]
// CHECK: [[LEFT:%\w+]] = tensor.extract_slice %arg0{{\[}}[[ROW]], [[DEPTH]]] [2, 4]
// CHECK: [[RIGHT:%\w+]] = tensor.extract_slice %arg1{{\[}}[[DEPTH]], 0] [4, 33]
// CHECK: [[NEW:%\w+]] = linalg.matmul ins([[LEFT]], [[RIGHT]] : {{.*}}) outs([[OLD]] :
// CHECK: tensor.insert_slice [[NEW]] into [[SECOND]]{{\[}}[[ROW]], 0] [2, 33]
func.func @matmul(%a: tensor<16x8xf32>, %b: tensor<8x33xf32>, %c: tensor<16x33xf32>) -> tensor<16x33xf32> {
  %product = linalg.matmul {root} ins(%a, %b : tensor<16x8xf32>, tensor<8x33xf32>)
      outs(%c : tensor<16x33xf32>) -> tensor<16x33xf32>
  return %product : tensor<16x33xf32>
}

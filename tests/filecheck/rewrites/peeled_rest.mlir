// REWRITE: tile-and-fuse sizes=0,0,3 peels-rest
// The loop covers whole tiles; what is left follows after it.

// CHECK: [[SUM:%\w+]] = scf.for {{.*}} = %c0 to %c6 step %c3
// CHECK: linalg.matmul {{.*}}tensor<10x3xf32>, tensor<3x5xf32>
// CHECK: scf.yield
// CHECK-DAG: [[LEFT:%\w+]] = tensor.extract_slice %arg0[0, 6] [10, 2]
// CHECK-DAG: [[RIGHT:%\w+]] = tensor.extract_slice %arg1[6, 0] [2, 5]
// CHECK: [[PRODUCT:%\w+]] = linalg.matmul ins([[LEFT]], [[RIGHT]] : {{.*}}) outs([[SUM]] : tensor<10x5xf32>)
// CHECK: return [[PRODUCT]]
func.func @matmul(%a: tensor<10x8xf32>, %b: tensor<8x5xf32>) -> tensor<10x5xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<10x5xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<10x5xf32>) -> tensor<10x5xf32>
  %product = linalg.matmul {root} ins(%a, %b : tensor<10x8xf32>, tensor<8x5xf32>)
      outs(%zeros : tensor<10x5xf32>) -> tensor<10x5xf32>
  return %product : tensor<10x5xf32>
}

// REWRITE: tile-and-fuse sizes=5,0,2 interchange=2,0,1
// The init rule: the zeros that a reduction starts from are made once, outside of its loop.

// CHECK: [[ZEROS:%\w+]] = linalg.fill {{.*}} -> tensor<10x5xf32>
// CHECK: scf.for {{.*}} to %c8 step %c2 iter_args([[FIRST:%\w+]] = [[ZEROS]])
// CHECK: scf.for {{.*}} to %c10 step %c5 iter_args([[SECOND:%\w+]] = [[FIRST]])
// CHECK-NOT: linalg.fill
// CHECK: [[OLD:%\w+]] = tensor.extract_slice [[SECOND]]
// CHECK: linalg.matmul {{.*}} outs([[OLD]] :
func.func @matmul(%a: tensor<10x8xf32>, %b: tensor<8x5xf32>) -> tensor<10x5xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<10x5xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<10x5xf32>) -> tensor<10x5xf32>
  %product = linalg.matmul {root} ins(%a, %b : tensor<10x8xf32>, tensor<8x5xf32>)
      outs(%zeros : tensor<10x5xf32>) -> tensor<10x5xf32>
  return %product : tensor<10x5xf32>
}

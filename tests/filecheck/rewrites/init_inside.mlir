// REWRITE: tile-and-fuse sizes=5,0,2 interchange=2,0,1 init-inside
// Without the init rule the zeros are fused like any other producer, and each step of the reduction starts anew.

// CHECK: [[EMPTY:%\w+]] = tensor.empty() : tensor<10x5xf32>
// CHECK-NOT: linalg.fill
// CHECK: scf.for {{.*}} to %c8 step %c2 iter_args([[FIRST:%\w+]] = [[EMPTY]])
// CHECK: scf.for {{.*}} to %c10 step %c5
// CHECK: [[ZEROS:%\w+]] = linalg.fill {{.*}} -> tensor<5x5xf32>
// CHECK: linalg.matmul {{.*}} outs([[ZEROS]] : tensor<5x5xf32>)
func.func @matmul(%a: tensor<10x8xf32>, %b: tensor<8x5xf32>) -> tensor<10x5xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<10x5xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<10x5xf32>) -> tensor<10x5xf32>
  %product = linalg.matmul {root} ins(%a, %b : tensor<10x8xf32>, tensor<8x5xf32>)
      outs(%zeros : tensor<10x5xf32>) -> tensor<10x5xf32>
  return %product : tensor<10x5xf32>
}

// REWRITE: tile-and-fuse sizes=2,0,0 recompute
// Asked to, every tile computes the factor that it needs whole anew.

// CHECK-NOT: linalg.exp
// CHECK: scf.for
// CHECK: [[FACTOR:%\w+]] = linalg.exp ins(%arg1 : tensor<4x5xf32>)
// CHECK: linalg.matmul ins({{.*}}, [[FACTOR]] : tensor<2x4xf32>, tensor<4x5xf32>)
func.func @product(%x: tensor<8x4xf32>, %y: tensor<4x5xf32>, %out: tensor<8x5xf32>) -> tensor<8x5xf32> {
  %empty = tensor.empty() : tensor<4x5xf32>
  %factor = linalg.exp ins(%y : tensor<4x5xf32>) outs(%empty : tensor<4x5xf32>) -> tensor<4x5xf32>
  %product = linalg.matmul {root} ins(%x, %factor : tensor<8x4xf32>, tensor<4x5xf32>)
      outs(%out : tensor<8x5xf32>) -> tensor<8x5xf32>
  return %product : tensor<8x5xf32>
}

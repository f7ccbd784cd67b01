// REWRITE: tile-and-fuse sizes=2,0
// What two producers share is computed once for each tile.

// CHECK: scf.for
// CHECK: [[SHARED:%\w+]] = linalg.exp ins({{.*}} : tensor<2x4xf32>)
// CHECK-NOT: linalg.exp
// CHECK-DAG: linalg.negf ins([[SHARED]]
// CHECK-DAG: linalg.square ins([[SHARED]]
// CHECK-NOT: linalg.exp
// CHECK: linalg.add
func.func @diamond(%x: tensor<8x4xf32>, %out: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %empty = tensor.empty() : tensor<8x4xf32>
  %shared = linalg.exp ins(%x : tensor<8x4xf32>) outs(%empty : tensor<8x4xf32>) -> tensor<8x4xf32>
  %left = linalg.negf ins(%shared : tensor<8x4xf32>) outs(%empty : tensor<8x4xf32>) -> tensor<8x4xf32>
  %right = linalg.square ins(%shared : tensor<8x4xf32>) outs(%empty : tensor<8x4xf32>) -> tensor<8x4xf32>
  %sum = linalg.add {root} ins(%left, %right : tensor<8x4xf32>, tensor<8x4xf32>)
      outs(%out : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %sum : tensor<8x4xf32>
}

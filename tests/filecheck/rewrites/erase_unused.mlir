// REWRITE: erase-unused
// A loop whose result nothing uses goes with all that only it needs, and so does what is unused inside of a loop.

// CHECK-NOT: linalg.exp
// CHECK: [[USED:%\w+]] = scf.for {{.*}} iter_args({{.*}} = %arg0)
// CHECK-NEXT: linalg.square
// CHECK-NEXT: scf.yield
// CHECK-NOT: scf.for
// CHECK: return [[USED]]
func.func @f(%x: tensor<8xf32>, %out: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c2 = arith.constant 2 : index
  %exponential = linalg.exp ins(%x : tensor<8xf32>) outs(%out : tensor<8xf32>) -> tensor<8xf32>
  %unused = scf.for %i = %c0 to %c8 step %c2 iter_args(%old = %exponential) -> tensor<8xf32> {
    %new = linalg.negf ins(%old : tensor<8xf32>) outs(%out : tensor<8xf32>) -> tensor<8xf32>
    scf.yield %new : tensor<8xf32>
  }
  %used = scf.for %i = %c0 to %c8 step %c2 iter_args(%old = %x) -> tensor<8xf32> {
    %new = linalg.square ins(%old : tensor<8xf32>) outs(%out : tensor<8xf32>) -> tensor<8xf32>
    %other = linalg.exp ins(%new : tensor<8xf32>) outs(%out : tensor<8xf32>) -> tensor<8xf32>
    scf.yield %new : tensor<8xf32>
  }
  return %used : tensor<8xf32>
}

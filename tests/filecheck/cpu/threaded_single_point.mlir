// STAGE: threaded
// A grid of one point has lost its loop to canonicalisation: the whole kernel is that point, and the loop over
// the rows of a contraction is not mistaken for the grid.

// CHECK: func.func @kernel(%arg0: memref<8xf32>{{.*}}, [[FIRST:%.*]]: index, [[END:%.*]]: index,
func.func @kernel(%out: memref<8xf32> {harness.buffer = "output"}) {
  %zero = arith.constant 0.0 : f32
  // CHECK: scf.for {{.*}} = [[FIRST]] to [[END]]
  // CHECK: scf.forall {{.*}} in (8)
  // CHECK: } {harness.inner_loop}
  // CHECK-NEXT: }
  // CHECK-NEXT: return
  scf.forall (%i) in (8) {
    memref.store %zero, %out[%i] : memref<8xf32>
  } {harness.inner_loop}
  return
}

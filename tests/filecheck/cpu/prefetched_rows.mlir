// STAGE: prefetched
// Rows of a head lie 128 elements apart: with a square of the tile the same one of the next tile is asked for.

// CHECK: func.func @square(%arg0: memref<64x2x64xf32>, %arg1: memref<64x64xf32>, [[TILE:%.*]]: index)
func.func @square(%far: memref<64x2x64xf32>, %near: memref<64x64xf32>, %tile: index) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  // CHECK: scf.for
  scf.for %row = %c0 to %c32 step %c16 {
    // CHECK-COUNT-16: memref.prefetch %arg0[{{.*}}], read, locality<2>, data
    // CHECK-NOT: memref.prefetch
    // CHECK: vector.transfer_read %arg0
    %at = affine.apply affine_map<(d0, d1) -> (d0 + d1)>(%row, %tile)
    %square = vector.transfer_read %far[%at, %c0, %c0], %zero {in_bounds = [true, true], permutation_map = affine_map<(d0, d1, d2) -> (d0, d2)>} : memref<64x2x64xf32>, vector<16x16xf32>
    // CHECK-NOT: memref.prefetch
    // CHECK: vector.transfer_write %{{.*}}, %arg1
    vector.transfer_write %square, %near[%at, %c0] {in_bounds = [true, true]} : vector<16x16xf32>, memref<64x64xf32>
  }
  return
}

// STAGE: kept
// A copy has a slot of its tensor's, and is made only where the slot holds a tile from elsewhere.  The next tile
// is prefetched by the loop over rows that uses a new one.

// CHECK: func.func @keys(%arg0: memref<8x2x64xf32>
func.func @keys(%keys: memref<8x2x64xf32> {harness.dimensions = ["key", "head", "width"]}, %out: memref<4x64xf32> {harness.dimensions = ["query", "width"]}) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  // CHECK: [[SLOTS:%.*]] = memref.alloc() : memref<2048xi8>
  // CHECK: [[PLACES:%.*]] = memref.alloc() : memref<2xi64>
  // CHECK: scf.for
  // CHECK: memref.store %{{.*}}, [[PLACES]]
  // CHECK: scf.forall
  scf.forall (%head, %tile) in (2, 4) {
    scf.for %key = %c0 to %c8 step %c4 {
      // CHECK: [[KEPT:%.*]] = memref.view [[SLOTS]]{{.*}} to memref<4x64xf32>
      // CHECK: [[HELD:%.*]] = memref.load [[PLACES]]
      // CHECK: [[NEW:%.*]] = arith.cmpi ne, [[HELD]]
      // CHECK: scf.if [[NEW]]
      // CHECK: [[READ:%.*]] = vector.transfer_read %arg0
      // CHECK: vector.transfer_write [[READ]], [[KEPT]]
      // CHECK: memref.store %{{.*}}, [[PLACES]]
      %copy = memref.alloc() : memref<4x64xf32>
      scf.for %row = %c0 to %c4 step %c1 {
        %at = affine.apply affine_map<(d0, d1) -> (d0 + d1)>(%row, %key)
        %one = vector.transfer_read %keys[%at, %head, %c0], %zero {in_bounds = [true, true]} : memref<8x2x64xf32>, vector<1x64xf32>
        vector.transfer_write %one, %copy[%row, %c0] {in_bounds = [true, true]} : vector<1x64xf32>, memref<4x64xf32>
      } {harness.packed_rows = 0 : index}
      // CHECK: scf.forall
      scf.forall (%rows) in (2) {
        // CHECK: scf.if [[NEW]]
        // CHECK-COUNT-8: memref.prefetch %arg0[{{.*}}], read, locality<2>, data
        // CHECK-NOT: memref.prefetch
        %first = affine.apply affine_map<(d0) -> (d0 * 2)>(%rows)
        %sum = scf.for %column = %c0 to %c8 step %c1 iter_args(%so_far = %zero) -> (f32) {
          // CHECK: vector.transfer_read [[KEPT]]
          %part = vector.transfer_read %copy[%first, %column], %zero {in_bounds = [true]} : memref<4x64xf32>, vector<1xf32>
          %element = vector.extract %part[0] : f32 from vector<1xf32>
          %next = arith.addf %so_far, %element : f32
          scf.yield %next : f32
        }
        memref.store %sum, %out[%tile, %first] : memref<4x64xf32>
      } {harness.inner_loop}
    }
  }
  return
}

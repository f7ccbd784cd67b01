// STAGE: vector-lowered 8
// A contraction step becomes one multiply-add a row, the marked loop a plain one, maxima compare and select.

#left = affine_map<(d0, d1, d2) -> (d0, d2)>
#right = affine_map<(d0, d1, d2) -> (d2, d1)>
#result = affine_map<(d0, d1, d2) -> (d0, d1)>

func.func @step(%k: memref<8x1xf32>, %q: memref<1x16xf32>, %out: memref<8x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  // CHECK-NOT: scf.forall
  // CHECK-NOT: vector.contract
  // CHECK-NOT: arith.maximumf
  // CHECK: scf.for
  // CHECK-COUNT-2: vector.fma {{.*}} : vector<16xf32>
  // CHECK: [[LARGER:%.*]] = arith.cmpf ogt
  // CHECK: arith.select [[LARGER]]
  // CHECK-COUNT-2: vector.store {{.*}} vector<16xf32>
  scf.forall (%i) in (4) {
    %row = affine.apply affine_map<(d0) -> (d0 * 2)>(%i)
    %left = vector.transfer_read %k[%row, %c0], %zero {in_bounds = [true, true]} : memref<8x1xf32>, vector<2x1xf32>
    %right = vector.transfer_read %q[%c0, %c0], %zero {in_bounds = [true, true]} : memref<1x16xf32>, vector<1x16xf32>
    %old = vector.transfer_read %out[%row, %c0], %zero {in_bounds = [true, true]} : memref<8x16xf32>, vector<2x16xf32>
    %next = vector.contract {indexing_maps = [#left, #right, #result], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
      %left, %right, %old : vector<2x1xf32>, vector<1x16xf32> into vector<2x16xf32>
    %largest = arith.maximumf %next, %old : vector<2x16xf32>
    vector.transfer_write %largest, %out[%row, %c0] {in_bounds = [true, true]} : vector<2x16xf32>, memref<8x16xf32>
  } {harness.inner_loop}
  return
}

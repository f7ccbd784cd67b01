// STAGE: tiles
// What is read and cast to a tile is loaded as one; a tile that is cast and written is stored.

func.func @product(%a: memref<16x64xbf16>, %b: memref<32x16xi32>, %c: memref<16x16xf32>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %x = arith.constant 0.0 : bf16
  %y = arith.constant 0 : i32
  // CHECK: %[[NOTHING:.*]] = amx.tile_zero
  // CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = %[[NOTHING]]) -> (!amx.tile<16x16xf32>)
  // CHECK-NOT: vector.transfer_read
  // CHECK: %[[LEFT:.*]] = amx.tile_load %arg0[%c0, %c32] : memref<16x64xbf16> into !amx.tile<16x32xbf16>
  // CHECK: amx.tile_load %arg1[%{{.*}}, %c0] : memref<32x16xi32> into !amx.tile<16x16xi32>
  // CHECK: amx.tile_mulf %[[LEFT]], %{{.*}}, %[[SUM]]
  // CHECK: amx.tile_store %arg2[%c0, %c0]
  // CHECK-NOT: vector.transfer_write
  %nothing = amx.tile_zero : !amx.tile<16x16xf32>
  %sum = scf.for %i = %c0 to %c32 step %c16 iter_args(%s = %nothing) -> (!amx.tile<16x16xf32>) {
    %l = vector.transfer_read %a[%c0, %c32], %x {in_bounds = [true, true]} : memref<16x64xbf16>, vector<16x32xbf16>
    %left = builtin.unrealized_conversion_cast %l : vector<16x32xbf16> to !amx.tile<16x32xbf16>
    %r = vector.transfer_read %b[%i, %c0], %y {in_bounds = [true, true]} : memref<32x16xi32>, vector<16x16xi32>
    %right = builtin.unrealized_conversion_cast %r : vector<16x16xi32> to !amx.tile<16x32xbf16>
    %next = amx.tile_mulf %left, %right, %s
      : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
    scf.yield %next : !amx.tile<16x16xf32>
  }
  %result = builtin.unrealized_conversion_cast %sum : !amx.tile<16x16xf32> to vector<16x16xf32>
  vector.transfer_write %result, %c[%c0, %c0] {in_bounds = [true, true]} : vector<16x16xf32>, memref<16x16xf32>
  return
}

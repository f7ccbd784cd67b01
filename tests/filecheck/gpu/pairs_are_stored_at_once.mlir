// WARPS: 4
// Each lane of the accumulator's layout holds pairs of neighbours: one access for two elements of 16 bits.

// CHECK-LABEL: .entry copy(
// CHECK-NOT: ld.global.b16
// CHECK: ld.global.b32
// CHECK-NOT: st.global.b16
// CHECK: st.global.b32
// CHECK-NOT: st.global.b16
// CHECK: ret;
func.func @copy(%in: memref<64x64xf16>, %out: memref<64x64xf16>) {
  %c0 = arith.constant 0 : index
  %nothing = arith.constant 0.0 : f16
  %x = vector.transfer_read %in[%c0, %c0], %nothing {in_bounds = [true, true]} : memref<64x64xf16>, vector<64x64xf16>
  vector.transfer_write %x, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf16>, memref<64x64xf16>
  return
}

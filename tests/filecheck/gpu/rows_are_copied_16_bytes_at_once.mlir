// WARPS: 4
// No product decides how lanes hold a matrix: each of them has 8 neighbours of 16 bits in one access.

// CHECK-LABEL: .entry copy(
// CHECK-NOT: ld.global.b
// CHECK: ld.global.v4.b32
// CHECK-NOT: st.global.b
// CHECK: st.global.v4.b32
// CHECK-NOT: st.global.b
// CHECK: ret;
func.func @copy(%in: memref<64x64xf16>, %out: memref<64x64xf16>) {
  %c0 = arith.constant 0 : index
  %nothing = arith.constant 0.0 : f16
  %x = vector.transfer_read %in[%c0, %c0], %nothing {in_bounds = [true, true]} : memref<64x64xf16>, vector<64x64xf16>
  vector.transfer_write %x, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf16>, memref<64x64xf16>
  return
}

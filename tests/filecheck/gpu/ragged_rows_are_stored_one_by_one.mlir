// WARPS: 4
// Rows of 65 elements begin at any multiple of 2 bytes: nothing wider is proven.

// CHECK-LABEL: .entry copy(
// CHECK-NOT: .b32 {{.*}}global
// CHECK: st.global.b16
// CHECK-NOT: st.global.{{v|b32|b64}}
// CHECK: ret;
func.func @copy(%in: memref<64x65xf16>, %out: memref<64x65xf16>) {
  %c0 = arith.constant 0 : index
  %nothing = arith.constant 0.0 : f16
  %x = vector.transfer_read %in[%c0, %c0], %nothing {in_bounds = [true, true]} : memref<64x65xf16>, vector<64x64xf16>
  vector.transfer_write %x, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf16>, memref<64x65xf16>
  return
}

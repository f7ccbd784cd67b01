// STAGE: bufferized
// The last argument is written in place and nothing is returned.

// CHECK: func.func @copy(%arg0: memref<8x16xf32>, %arg1: memref<8x16xf32>) {
func.func @copy(%x: tensor<8x16xf32>, %out: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  // CHECK-NOT: memref.alloc
  // CHECK: [[ROW:%.*]] = vector.transfer_read %arg0
  // CHECK: vector.transfer_write [[ROW]], %arg1
  %row = vector.transfer_read %x[%c0, %c0], %zero {in_bounds = [true]} : tensor<8x16xf32>, vector<16xf32>
  %written = vector.transfer_write %row, %out[%c0, %c0] {in_bounds = [true]} : vector<16xf32>, tensor<8x16xf32>
  // CHECK: return{{$}}
  return %written : tensor<8x16xf32>
}

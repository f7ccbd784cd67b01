// STAGE: hoisted
// A computation that an outer loop repeats is repeated still, although nothing in it changes.

func.func @repeat(%x: tensor<8x16xf32>, %init: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %zero = arith.constant 0.0 : f32
  %start = arith.constant dense<0.0> : vector<16xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  // CHECK: scf.for
  // CHECK-NEXT: [[SUM:%.*]] = scf.for
  // CHECK: vector.transfer_write [[SUM]]
  %result = scf.for %i = %c0 to %c4 step %c1 iter_args(%out = %init) -> (tensor<4x16xf32>) {
    %sum = scf.for %j = %c0 to %c8 step %c1 iter_args(%acc = %start) -> (vector<16xf32>) {
      %row = vector.transfer_read %x[%j, %c0], %zero {in_bounds = [true]} : tensor<8x16xf32>, vector<16xf32>
      %next = arith.addf %row, %acc : vector<16xf32>
      scf.yield %next : vector<16xf32>
    }
    %written = vector.transfer_write %sum, %out[%i, %c0] {in_bounds = [true]} : vector<16xf32>, tensor<4x16xf32>
    scf.yield %written : tensor<4x16xf32>
  }
  return %result : tensor<4x16xf32>
}

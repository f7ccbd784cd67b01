// STAGE: hoisted
// What an innermost loop reads and writes back at one place is carried in vectors; what does not change is read
// once.

func.func @sum(%x: tensor<8x16xf32>, %b: tensor<16xf32>, %init: tensor<16xf32>) -> tensor<16xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  // CHECK-DAG: [[START:%.*]] = vector.transfer_read %arg2
  // CHECK-DAG: [[BIAS:%.*]] = vector.transfer_read %arg1
  // CHECK: [[SUM:%.*]] = scf.for {{.*}} iter_args({{.*}} = [[START]]) -> (vector<16xf32>)
  // CHECK-NEXT: vector.transfer_read %arg0
  // CHECK-NEXT: arith.addf
  // CHECK-NEXT: arith.addf
  // CHECK-NEXT: scf.yield
  // CHECK: vector.transfer_write [[SUM]], %arg2
  %result = scf.for %i = %c0 to %c8 step %c1 iter_args(%acc = %init) -> (tensor<16xf32>) {
    %row = vector.transfer_read %x[%i, %c0], %zero {in_bounds = [true]} : tensor<8x16xf32>, vector<16xf32>
    %bias = vector.transfer_read %b[%c0], %zero {in_bounds = [true]} : tensor<16xf32>, vector<16xf32>
    %old = vector.transfer_read %acc[%c0], %zero {in_bounds = [true]} : tensor<16xf32>, vector<16xf32>
    %with_bias = arith.addf %row, %bias : vector<16xf32>
    %next = arith.addf %with_bias, %old : vector<16xf32>
    %written = vector.transfer_write %next, %acc[%c0] {in_bounds = [true]} : vector<16xf32>, tensor<16xf32>
    scf.yield %written : tensor<16xf32>
  }
  return %result : tensor<16xf32>
}

// STAGE: guarded
// Rows are multiplied only if one of their factors is not 1; where each row has another factor they always are.

func.func @rescaled(%x: tensor<8x16xf32>, %factor: vector<16xf32>, %factors: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  // CHECK: [[DIFFERS:%.*]] = arith.cmpf une, %arg1
  // CHECK: [[ANY:%.*]] = vector.reduction <or>, [[DIFFERS]]
  // CHECK: [[KEPT:%.*]] = scf.if [[ANY]]
  // CHECK: scf.for
  // CHECK: } else {
  // CHECK-NEXT: scf.yield %arg0
  %same = vector.broadcast %factor : vector<16xf32> to vector<1x16xf32>
  %kept = scf.for %i = %c0 to %c8 step %c1 iter_args(%t = %x) -> (tensor<8x16xf32>) {
    %row = vector.transfer_read %t[%i, %c0], %zero {in_bounds = [true, true]} : tensor<8x16xf32>, vector<1x16xf32>
    %next = arith.mulf %same, %row : vector<1x16xf32>
    %new = vector.transfer_write %next, %t[%i, %c0] {in_bounds = [true, true]} : vector<1x16xf32>, tensor<8x16xf32>
    scf.yield %new : tensor<8x16xf32>
  } {harness.innermost}
  // CHECK-NOT: scf.if
  // CHECK: scf.for {{.*}} = [[KEPT]])
  %all = scf.for %i = %c0 to %c8 step %c1 iter_args(%t = %kept) -> (tensor<8x16xf32>) {
    %other = vector.transfer_read %factors[%i, %c0], %zero {in_bounds = [true]} : tensor<8x16xf32>, vector<16xf32>
    %row = vector.transfer_read %t[%i, %c0], %zero {in_bounds = [true]} : tensor<8x16xf32>, vector<16xf32>
    %next = arith.mulf %other, %row : vector<16xf32>
    %new = vector.transfer_write %next, %t[%i, %c0] {in_bounds = [true]} : vector<16xf32>, tensor<8x16xf32>
    scf.yield %new : tensor<8x16xf32>
  } {harness.innermost}
  return %all : tensor<8x16xf32>
}

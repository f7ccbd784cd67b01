// STAGE: merged
// A loop that sums rows as the loop before it writes them goes along with that; one that reads others does not.

func.func @sums(%x: tensor<8x16xf32>, %init: vector<16xf32>) -> (tensor<8x16xf32>, vector<16xf32>, vector<16xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  // CHECK: [[BOTH:%.*]]:2 = scf.for {{.*}} -> (tensor<8x16xf32>, vector<16xf32>)
  // CHECK: [[POWER:%.*]] = math.exp2
  // CHECK-NEXT: vector.transfer_write [[POWER]]
  // CHECK-NEXT: [[SUM:%.*]] = arith.addf [[POWER]]
  // CHECK-NEXT: scf.yield {{.*}}, [[SUM]]
  %powers = scf.for %i = %c0 to %c8 step %c1 iter_args(%t = %x) -> (tensor<8x16xf32>) {
    %row = vector.transfer_read %t[%i, %c0], %zero {in_bounds = [true]} : tensor<8x16xf32>, vector<16xf32>
    %power = math.exp2 %row : vector<16xf32>
    %next = vector.transfer_write %power, %t[%i, %c0] {in_bounds = [true]} : vector<16xf32>, tensor<8x16xf32>
    scf.yield %next : tensor<8x16xf32>
  } {harness.innermost}
  %sum = scf.for %i = %c0 to %c8 step %c1 iter_args(%s = %init) -> (vector<16xf32>) {
    %row = vector.transfer_read %powers[%i, %c0], %zero {in_bounds = [true]} : tensor<8x16xf32>, vector<16xf32>
    %next = arith.addf %row, %s : vector<16xf32>
    scf.yield %next : vector<16xf32>
  } {harness.innermost}
  // CHECK: scf.for {{.*}} -> (vector<16xf32>)
  // CHECK: vector.transfer_read [[BOTH]]#0[%c0
  %first = scf.for %i = %c0 to %c8 step %c1 iter_args(%s = %init) -> (vector<16xf32>) {
    %row = vector.transfer_read %powers[%c0, %c0], %zero {in_bounds = [true]} : tensor<8x16xf32>, vector<16xf32>
    %next = arith.addf %row, %s : vector<16xf32>
    scf.yield %next : vector<16xf32>
  } {harness.innermost}
  return %powers, %sum, %first : tensor<8x16xf32>, vector<16xf32>, vector<16xf32>
}

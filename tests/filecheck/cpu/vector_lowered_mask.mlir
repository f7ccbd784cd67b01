// STAGE: vector-lowered 16
// Only squares of 16 are shuffled: positions of keys, one a row, are taken one by one.

func.func @mask(%scores: memref<4x32xf32>, %keys: memref<4xi32>, %last: i32) {
  %zero = arith.constant 0.0 : f32
  %izero = arith.constant 0 : i32
  %hidden = arith.constant dense<0xFF800000> : vector<4x32xf32>
  %c0 = arith.constant 0 : index
  // CHECK-NOT: vector.shuffle
  // CHECK-NOT: vector.insert_strided_slice
  // CHECK: [[KEYS:%.*]] = vector.load {{.*}} vector<4xi32>
  // CHECK: [[FIRST:%.*]] = vector.extract [[KEYS]][0]
  // CHECK: vector.from_elements [[FIRST]], [[FIRST]],
  // CHECK: arith.cmpi sle
  %positions = vector.transfer_read %keys[%c0], %izero {in_bounds = [true]} : memref<4xi32>, vector<4xi32>
  %spread = vector.broadcast %positions : vector<4xi32> to vector<32x4xi32>
  %rows = vector.transpose %spread, [1, 0] : vector<32x4xi32> to vector<4x32xi32>
  %limit = vector.broadcast %last : i32 to vector<4x32xi32>
  %visible = arith.cmpi sle, %rows, %limit : vector<4x32xi32>
  %tile = vector.transfer_read %scores[%c0, %c0], %zero {in_bounds = [true, true]} : memref<4x32xf32>, vector<4x32xf32>
  %masked = arith.select %visible, %tile, %hidden : vector<4x32xi1>, vector<4x32xf32>
  vector.transfer_write %masked, %scores[%c0, %c0] {in_bounds = [true, true]} : vector<4x32xf32>, memref<4x32xf32>
  return
}

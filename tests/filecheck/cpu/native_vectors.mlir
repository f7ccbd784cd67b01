// STAGE: native-vectors 8
// A row of three registers becomes three vectors, also where a loop carries it.

func.func @sum(%x: memref<4x24xf32>, %out: memref<24xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %start = arith.constant dense<0.0> : vector<24xf32>
  // CHECK-NOT: vector<24xf32>
  // CHECK: scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>, vector<8xf32>)
  // CHECK-COUNT-3: vector.load {{.*}} memref<4x24xf32>, vector<8xf32>
  // CHECK-COUNT-3: arith.addf {{.*}} : vector<8xf32>
  // CHECK: scf.yield
  // CHECK-COUNT-3: vector.store {{.*}} memref<24xf32>, vector<8xf32>
  %sum = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %start) -> (vector<24xf32>) {
    %row = vector.load %x[%i, %c0] : memref<4x24xf32>, vector<24xf32>
    %next = arith.addf %row, %acc : vector<24xf32>
    scf.yield %next : vector<24xf32>
  }
  vector.store %sum, %out[%c0] : memref<24xf32>, vector<24xf32>
  return
}

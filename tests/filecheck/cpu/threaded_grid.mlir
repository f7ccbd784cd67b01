// STAGE: threaded
// Points first … end of the grid, numbered with the last dimension fastest; inner loops are left alone, and
// allocations become pieces of the caller's scratch memory at whole cache lines.

// CHECK: func.func @kernel(%arg0: memref<2x3x4xindex>{{.*}}, [[FIRST:%.*]]: index, [[END:%.*]]: index, [[SCRATCH:%.*]]: memref<128xi8>)
func.func @kernel(%out: memref<2x3x4xindex> {harness.buffer = "output"}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  // CHECK: scf.for [[POINT:%.*]] = [[FIRST]] to [[END]]
  // CHECK: [[TILES:%.*]] = arith.constant 4 : index
  // CHECK: [[TILE:%.*]] = arith.remui [[POINT]], [[TILES]]
  // CHECK: [[REST:%.*]] = arith.divui [[POINT]], [[TILES]]
  // CHECK: [[HEADS:%.*]] = arith.constant 3 : index
  // CHECK: [[HEAD:%.*]] = arith.remui [[REST]], [[HEADS]]
  // CHECK: [[BATCH:%.*]] = arith.divui [[REST]], [[HEADS]]
  scf.forall (%b, %h, %t) in (2, 3, 4) {
    // CHECK-NOT: memref.alloc
    // CHECK: [[OFFSET:%.*]] = arith.constant 0 : index
    // CHECK: [[LARGE:%.*]] = memref.view [[SCRATCH]]{{\[}}[[OFFSET]]]{{.*}} to memref<3x5xf32>
    %large = memref.alloc() : memref<3x5xf32>
    // CHECK: [[NEXT:%.*]] = arith.constant 64 : index
    // CHECK: [[SMALL:%.*]] = memref.view [[SCRATCH]]{{\[}}[[NEXT]]]{{.*}} to memref<4xf32>
    %small = memref.alloc() : memref<4xf32>
    memref.store %zero, %large[%c0, %c0] : memref<3x5xf32>
    memref.store %zero, %small[%c0] : memref<4xf32>
    // CHECK: memref.store [[TILE]], %arg0{{\[}}[[BATCH]], [[HEAD]], [[TILE]]]
    memref.store %t, %out[%b, %h, %t] : memref<2x3x4xindex>
  }
  return
}

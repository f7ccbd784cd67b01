// STAGE: packed
// Rows of a head lie 128 elements apart, and both tiles of queries read them: the tile is copied, row by row.
// A tile that each point reads by itself stays where it is.

func.func @rows(%keys: tensor<8x2x64xf32>, %out: tensor<4x64xf32>) -> tensor<4x64xf32> {
  // CHECK: scf.forall ([[HEAD:%.*]], %{{.*}}) in (2, 4)
  %result = scf.forall (%head, %tile) in (2, 4) shared_outs(%all = %out) -> (tensor<4x64xf32>) {
    // CHECK: [[TILE:%.*]] = tensor.extract_slice %arg0[4, [[HEAD]], 0] [4, 1, 64]
    // CHECK: [[PLACE:%.*]] = bufferization.alloc_tensor() : tensor<4x64xf32>
    // CHECK: [[COPY:%.*]] = scf.for [[ROW:%.*]] = {{.*}} iter_args([[ROWS:%.*]] = [[PLACE]])
    // CHECK: [[ONE:%.*]] = tensor.extract_slice [[TILE]][[[ROW]], 0] [1, 64]
    // CHECK: tensor.insert_slice [[ONE]] into [[ROWS]][[[ROW]], 0] [1, 64]
    // CHECK: {harness.packed_rows = 0 : index}
    %key = tensor.extract_slice %keys[4, %head, 0] [4, 1, 64] [1, 1, 1] : tensor<8x2x64xf32> to tensor<4x64xf32>
    // CHECK: tensor.extract_slice %arg0[%{{.*}}, [[HEAD]], 0] [1, 1, 64]
    // CHECK-NOT: bufferization.alloc_tensor
    %own = tensor.extract_slice %keys[%tile, %head, 0] [1, 1, 64] [1, 1, 1] : tensor<8x2x64xf32> to tensor<1x64xf32>
    // CHECK: tensor.extract_slice [[COPY]][0, 0] [1, 64]
    %row = tensor.extract_slice %key[0, 0] [1, 64] [1, 1] : tensor<4x64xf32> to tensor<1x64xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %row into %all[%tile, 0] [1, 64] [1, 1] : tensor<1x64xf32> into tensor<4x64xf32>
      tensor.parallel_insert_slice %own into %all[%tile, 0] [1, 64] [1, 1] : tensor<1x64xf32> into tensor<4x64xf32>
    }
  }
  return %result : tensor<4x64xf32>
}

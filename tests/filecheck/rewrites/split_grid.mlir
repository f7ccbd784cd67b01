// REWRITE: split-grid kernels=scores,exponentials,sums
// Each kernel computes its tile in a grid of its own.  The tiles that are handed on lie in a workspace with one
// block for each iteration, where the second kernel finds the first one's and leaves its own.

// CHECK: func.func @scores(%arg0: {{.*}}"query"},
// CHECK-SAME: %arg1: tensor<4x2x4xf32> {harness.buffer = "scores", {{.*}}harness.free_layout})
// CHECK: scf.forall ([[BLOCK:%\w+]]) in (4) shared_outs([[BLOCKS:%\w+]] = %arg1)
// CHECK: [[PLACE:%\w+]] = tensor.extract_slice [[BLOCKS]]{{\[}}[[BLOCK]], 0, 0] [1, 2, 4] {{.*}} to tensor<2x4xf32>
// CHECK: [[SCORE:%\w+]] = linalg.square {{.*}} outs([[PLACE]] :
// CHECK: tensor.parallel_insert_slice [[SCORE]] into [[BLOCKS]]{{\[}}[[BLOCK]], 0, 0]

// CHECK: func.func @exponentials(%arg0: tensor<4x2x4xf32> {{.*}}) -> tensor<4x2x4xf32>
// CHECK: scf.forall ([[BLOCK:%\w+]]) in (4) shared_outs([[BLOCKS:%\w+]] = %arg0)
// CHECK: [[GIVEN:%\w+]] = tensor.extract_slice [[BLOCKS]]{{\[}}[[BLOCK]], 0, 0] [1, 2, 4]
// CHECK-NOT: linalg.square
// CHECK: [[EXPONENTIAL:%\w+]] = linalg.exp ins([[GIVEN]]
// CHECK: tensor.parallel_insert_slice [[EXPONENTIAL]] into [[BLOCKS]]{{\[}}[[BLOCK]], 0, 0]

// CHECK: func.func @sums(%arg0: tensor<4x2x4xf32> {{.*}}, %arg1: {{.*}}"value"}, %arg2: {{.*}}"output"})
// CHECK: scf.forall ([[BLOCK:%\w+]]) in (4) shared_outs([[WHOLE:%\w+]] = %arg2)
// CHECK: [[GIVEN:%\w+]] = tensor.extract_slice %arg0{{\[}}[[BLOCK]], 0, 0] [1, 2, 4]
// CHECK-NOT: linalg.exp
// CHECK: [[SUM:%\w+]] = linalg.add ins([[GIVEN]],
// CHECK: tensor.parallel_insert_slice [[SUM]] into [[WHOLE]]{{\[}}{{%\w+}}, 0] [2, 4]
func.func @kernel(%x: tensor<8x4xf32> {harness.buffer = "query"}, %y: tensor<8x4xf32> {harness.buffer = "value"},
                  %out: tensor<8x4xf32> {harness.buffer = "output"}) -> tensor<8x4xf32> {
  %grid = scf.forall (%i) in (4) shared_outs(%whole = %out) -> tensor<8x4xf32> {
    %row = affine.apply affine_map<(d0) -> (d0 * 2)>(%i)
    %x_tile = tensor.extract_slice %x[%row, 0] [2, 4] [1, 1] : tensor<8x4xf32> to tensor<2x4xf32>
    %y_tile = tensor.extract_slice %y[%row, 0] [2, 4] [1, 1] : tensor<8x4xf32> to tensor<2x4xf32>
    %place = tensor.extract_slice %whole[%row, 0] [2, 4] [1, 1] : tensor<8x4xf32> to tensor<2x4xf32>
    %empty = tensor.empty() : tensor<2x4xf32>
    %score = linalg.square {scores} ins(%x_tile : tensor<2x4xf32>) outs(%empty : tensor<2x4xf32>) -> tensor<2x4xf32>
    %exponential = linalg.exp {exponentials} ins(%score : tensor<2x4xf32>)
        outs(%empty : tensor<2x4xf32>) -> tensor<2x4xf32>
    %sum = linalg.add ins(%exponential, %y_tile : tensor<2x4xf32>, tensor<2x4xf32>)
        outs(%place : tensor<2x4xf32>) -> tensor<2x4xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %sum into %whole[%row, 0] [2, 4] [1, 1] : tensor<2x4xf32> into tensor<8x4xf32>
    }
  }
  return %grid : tensor<8x4xf32>
}

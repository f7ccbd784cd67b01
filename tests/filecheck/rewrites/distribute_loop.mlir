// REWRITE: distribute-loop names=squares,sum kept=1,4
// Squares do not depend on what the loop carries: a kernel of its own computes those of all iterations, each at
// a point of the grid of its own, and leaves the first row of each.  The loop finds them, with a row of zeros.

// CHECK: func.func @squares(%arg0: {{.*}}"query"},
// CHECK-SAME: %arg1: tensor<4x3x1x4xf32> {harness.buffer = "square", harness.dimensions = ["grid0", "grid1", "query", "width"], harness.free_layout})
// CHECK: scf.forall ([[BLOCK:%\w+]], [[PART:%\w+]]) in (4, 3) shared_outs([[LEFT:%\w+]] = %arg1)
// CHECK: tensor.extract_slice %arg0{{\[}}{{%\w+}}, [[PART]], 0]
// CHECK: [[SQUARE:%\w+]] = linalg.square
// CHECK: [[KEPT:%\w+]] = tensor.extract_slice [[SQUARE]][0, 0] [1, 4]
// CHECK: [[PLACE:%\w+]] = tensor.extract_slice [[LEFT]]{{\[}}[[BLOCK]], [[PART]], 0, 0]
// CHECK: [[COPY:%\w+]] = linalg.generic {{.*}} ins([[KEPT]] : {{.*}}) outs([[PLACE]] :
// CHECK: tensor.parallel_insert_slice [[COPY]] into [[LEFT]]{{\[}}[[BLOCK]], [[PART]], 0, 0]
// CHECK-NOT: linalg.add

// CHECK: func.func @sum(%arg0: tensor<4x3x1x4xf32> {{.*}}, %arg1: {{.*}}"output"})
// CHECK: scf.forall ([[BLOCK:%\w+]]) in (4)
// CHECK: scf.for [[PART:%\w+]] =
// CHECK: [[FOUND:%\w+]] = tensor.extract_slice %arg0{{\[}}[[BLOCK]], [[PART]], 0, 0] [1, 1, 1, 4]
// CHECK: [[TILE:%\w+]] = tensor.pad [[FOUND]] low[0, 0] high[1, 0]
// CHECK: linalg.add ins({{%\w+}}, [[TILE]] :
// CHECK-NOT: linalg.square
func.func @kernel(%x: tensor<8x3x4xf32> {harness.buffer = "query"},
                  %out: tensor<8x4xf32> {harness.buffer = "output"}) -> tensor<8x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %grid = scf.forall (%i) in (4) shared_outs(%whole = %out) -> tensor<8x4xf32> {
    %row = affine.apply affine_map<(d0) -> (d0 * 2)>(%i)
    %empty = tensor.empty() : tensor<2x4xf32>
    %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x4xf32>) -> tensor<2x4xf32>
    %sum = scf.for %part = %c0 to %c3 step %c1 iter_args(%old = %start) -> tensor<2x4xf32> {
      %tile = tensor.extract_slice %x[%row, %part, 0] [2, 1, 4] [1, 1, 1]
          : tensor<8x3x4xf32> to tensor<2x4xf32>
      %square = linalg.square {tile} ins(%tile : tensor<2x4xf32>) outs(%empty : tensor<2x4xf32>)
          -> tensor<2x4xf32>
      %new = linalg.add ins(%old, %square : tensor<2x4xf32>, tensor<2x4xf32>)
          outs(%old : tensor<2x4xf32>) -> tensor<2x4xf32>
      scf.yield %new : tensor<2x4xf32>
    } {root}
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %sum into %whole[%row, 0] [2, 4] [1, 1] : tensor<2x4xf32> into tensor<8x4xf32>
    }
  }
  return %grid : tensor<8x4xf32>
}

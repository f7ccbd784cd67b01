// REWRITE: split-grid kernels=scores+largest,exponentials,differences
// A kernel leaves several tiles, each in a workspace of its own type.  Later kernels find those that they need,
// also two kernels later, and compute none of them again.

// CHECK: func.func @scores(%arg0: {{.*}}"query"},
// CHECK-SAME: %arg1: tensor<4x2x4xf32> {harness.buffer = "scores", harness.dimensions = ["grid0", "query", "key"]
// CHECK-SAME: %arg2: tensor<4x2xf32> {harness.buffer = "largest", harness.dimensions = ["grid0", "query"]
// CHECK: scf.forall ([[BLOCK:%\w+]]) in (4) shared_outs([[SCORES:%\w+]] = %arg1, [[ROWS:%\w+]] = %arg2)
// CHECK: [[SCORE:%\w+]] = linalg.square
// CHECK: [[LARGEST:%\w+]] = linalg.generic {{.*}} ins([[SCORE]] :
// CHECK: tensor.parallel_insert_slice [[SCORE]] into [[SCORES]]{{\[}}[[BLOCK]], 0, 0] [1, 2, 4]
// CHECK: tensor.parallel_insert_slice [[LARGEST]] into [[ROWS]]{{\[}}[[BLOCK]], 0] [1, 2]

// CHECK: func.func @exponentials(%arg0: tensor<4x2x4xf32> {{.*}}) -> tensor<4x2x4xf32>
// CHECK-NOT: linalg.square
// CHECK: linalg.exp

// CHECK: func.func @differences(%arg0: tensor<4x2xf32> {{.*}}"largest"
// CHECK-SAME: %arg1: tensor<4x2x4xf32> {{.*}}"scores"
// CHECK-SAME: %arg2: {{.*}}"output"})
// CHECK-DAG: [[LARGEST:%\w+]] = tensor.extract_slice %arg0{{\[}}{{%\w+}}, 0] [1, 2] {{.*}} to tensor<2xf32>
// CHECK-DAG: [[EXPONENTIAL:%\w+]] = tensor.extract_slice %arg1{{\[}}{{%\w+}}, 0, 0] [1, 2, 4]
// CHECK-NOT: arith.maximumf
// CHECK: linalg.generic {{.*}} ins([[EXPONENTIAL]], [[LARGEST]] :
#whole = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>
func.func @kernel(%x: tensor<8x4xf32> {harness.buffer = "query"}, %out: tensor<8x4xf32> {harness.buffer = "output"})
    -> tensor<8x4xf32> {
  %grid = scf.forall (%i) in (4) shared_outs(%whole = %out) -> tensor<8x4xf32> {
    %row = affine.apply affine_map<(d0) -> (d0 * 2)>(%i)
    %x_tile = tensor.extract_slice %x[%row, 0] [2, 4] [1, 1] : tensor<8x4xf32> to tensor<2x4xf32>
    %place = tensor.extract_slice %whole[%row, 0] [2, 4] [1, 1] : tensor<8x4xf32> to tensor<2x4xf32>
    %empty = tensor.empty() : tensor<2x4xf32>
    %score = linalg.square {scores} ins(%x_tile : tensor<2x4xf32>) outs(%empty : tensor<2x4xf32>) -> tensor<2x4xf32>
    %lowest = arith.constant -1.0e+30 : f32
    %empty_rows = tensor.empty() : tensor<2xf32>
    %start = linalg.fill ins(%lowest : f32) outs(%empty_rows : tensor<2xf32>) -> tensor<2xf32>
    %largest = linalg.generic {indexing_maps = [#whole, #rows], iterator_types = ["parallel", "reduction"]}
        ins(%score : tensor<2x4xf32>) outs(%start : tensor<2xf32>) attrs = {largest} {
    ^bb0(%element: f32, %so_far: f32):
      %larger = arith.maximumf %element, %so_far : f32
      linalg.yield %larger : f32
    } -> tensor<2xf32>
    %exponential = linalg.exp {exponentials} ins(%score : tensor<2x4xf32>)
        outs(%empty : tensor<2x4xf32>) -> tensor<2x4xf32>
    %difference = linalg.generic {indexing_maps = [#whole, #rows, #whole], iterator_types = ["parallel", "parallel"]}
        ins(%exponential, %largest : tensor<2x4xf32>, tensor<2xf32>) outs(%place : tensor<2x4xf32>) {
    ^bb0(%element: f32, %of_row: f32, %unused: f32):
      %less = arith.subf %element, %of_row : f32
      linalg.yield %less : f32
    } -> tensor<2x4xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %difference into %whole[%row, 0] [2, 4] [1, 1]
          : tensor<2x4xf32> into tensor<8x4xf32>
    }
  }
  return %grid : tensor<8x4xf32>
}

// STAGE: lanes
// Scores become [keys, queries]; K stays as it lies in memory and becomes the first factor; only the copy of
// the Q tile transposes; the free layout of the score matrix follows.

#identity = affine_map<(d0, d1) -> (d0, d1)>
#query = affine_map<(d0, d1, d2) -> (d0, d2)>
#key = affine_map<(d0, d1, d2) -> (d1, d2)>
#score = affine_map<(d0, d1, d2) -> (d0, d1)>

// CHECK-DAG: [[KEPT:#.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: [[SWAPPED:#.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-DAG: [[KEY:#.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: [[QUERY:#.*]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: [[SCORE:#.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK: func.func @scores(%arg0: tensor<32x4xf32>
// CHECK-SAME: %arg1: tensor<8x4xf32>
// CHECK-SAME: %arg2: tensor<2x8x16xf32>
// CHECK-SAME: -> tensor<2x8x16xf32>
func.func @scores(
    %q: tensor<32x4xf32> {harness.dimensions = ["query", "width"]},
    %k: tensor<8x4xf32> {harness.dimensions = ["key", "width"]},
    %s: tensor<2x16x8xf32> {harness.dimensions = ["tile", "query", "key"], harness.free_layout}
) -> tensor<2x16x8xf32> {
  %zero = arith.constant 0.0 : f32
  %result = scf.forall (%tile) in (2) shared_outs(%out = %s) -> (tensor<2x16x8xf32>) {
    %first = affine.apply affine_map<(d0) -> (d0 * 16)>(%tile)
    // CHECK: [[MEMORY:%.*]] = tensor.extract_slice %arg0[{{.*}}] [16, 4] [1, 1] : tensor<32x4xf32> to tensor<16x4xf32>
    %q_slice = tensor.extract_slice %q[%first, 0] [16, 4] [1, 1] : tensor<32x4xf32> to tensor<16x4xf32>
    %q_empty = tensor.empty() : tensor<16x4xf32>
    // CHECK: [[TILE:%.*]] = linalg.generic {indexing_maps = {{\[}}[[SWAPPED]], [[KEPT]]]
    // CHECK-SAME: ins([[MEMORY]] : tensor<16x4xf32>) outs({{.*}} : tensor<4x16xf32>)
    %q_tile = linalg.generic {indexing_maps = [#identity, #identity], iterator_types = ["parallel", "parallel"]}
        ins(%q_slice : tensor<16x4xf32>) outs(%q_empty : tensor<16x4xf32>) {
    ^bb0(%in: f32, %old: f32):
      linalg.yield %in : f32
    } -> tensor<16x4xf32>
    %empty = tensor.empty() : tensor<16x8xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x8xf32>) -> tensor<16x8xf32>
    // CHECK: linalg.generic {indexing_maps = {{\[}}[[KEY]], [[QUERY]], [[SCORE]]]
    // CHECK-SAME: ins(%arg1, [[TILE]] : tensor<8x4xf32>, tensor<4x16xf32>) outs({{.*}} : tensor<8x16xf32>)
    %scores = linalg.generic {indexing_maps = [#query, #key, #score], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%q_tile, %k : tensor<16x4xf32>, tensor<8x4xf32>) outs(%init : tensor<16x8xf32>) {
    ^bb0(%left: f32, %right: f32, %sum: f32):
      %product = arith.mulf %left, %right : f32
      %next = arith.addf %product, %sum : f32
      linalg.yield %next : f32
    } -> tensor<16x8xf32>
    scf.forall.in_parallel {
      // CHECK: tensor.parallel_insert_slice {{.*}}, 0, 0] [1, 8, 16] [1, 1, 1] : tensor<8x16xf32> into tensor<2x8x16xf32>
      tensor.parallel_insert_slice %scores into %out[%tile, 0, 0] [1, 16, 8] [1, 1, 1] : tensor<16x8xf32> into tensor<2x16x8xf32>
    }
  }
  return %result : tensor<2x16x8xf32>
}

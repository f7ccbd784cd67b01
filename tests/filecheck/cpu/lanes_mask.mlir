// STAGE: lanes
// `linalg.index` follows its loop: what was the query's position is now loop 1.

#identity = affine_map<(d0, d1) -> (d0, d1)>

// CHECK: linalg.generic {{.*}} outs({{.*}} : tensor<8x16xf32>)
// CHECK: [[QUERY:%.*]] = linalg.index 1
// CHECK: [[KEY:%.*]] = linalg.index 0
// CHECK: arith.cmpi sle, [[KEY]], [[QUERY]]
func.func @mask(
    %s: tensor<16x8xf32> {harness.dimensions = ["query", "key"], harness.free_layout}
) -> tensor<16x8xf32> {
  %hidden = arith.constant 0xFF800000 : f32
  %masked = linalg.generic {indexing_maps = [#identity], iterator_types = ["parallel", "parallel"]}
      outs(%s : tensor<16x8xf32>) {
  ^bb0(%score: f32):
    %query = linalg.index 0 : index
    %key = linalg.index 1 : index
    %visible = arith.cmpi sle, %key, %query : index
    %selected = arith.select %visible, %score, %hidden : f32
    linalg.yield %selected : f32
  } -> tensor<16x8xf32>
  return %masked : tensor<16x8xf32>
}

// STAGE: register-tiled 8
// Four rows of accumulators stay while the reduction is walked step by step; the zero fill moves into the loop
// over rows, which is marked for becoming a plain loop.

#key = affine_map<(d0, d1, d2) -> (d0, d2)>
#query = affine_map<(d0, d1, d2) -> (d2, d1)>
#score = affine_map<(d0, d1, d2) -> (d0, d1)>

func.func @scores(%k: tensor<8x6xf32>, %q: tensor<6x16xf32>) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x16xf32>) -> tensor<8x16xf32>
  // CHECK: scf.forall {{.*}} in (2)
  // CHECK: [[ZERO:%.*]] = linalg.fill {{.*}}tensor<4x16xf32>
  // CHECK: scf.for {{.*}} iter_args({{.*}} = [[ZERO]]) -> (tensor<4x16xf32>)
  // CHECK: linalg.generic {{.*}}tensor<4x1xf32>, tensor<1x16xf32>) outs({{.*}} : tensor<4x16xf32>)
  // CHECK: {harness.inner_loop}
  %scores = linalg.generic {indexing_maps = [#key, #query, #score], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%k, %q : tensor<8x6xf32>, tensor<6x16xf32>) outs(%init : tensor<8x16xf32>) {
  ^bb0(%left: f32, %right: f32, %sum: f32):
    %product = arith.mulf %left, %right : f32
    %next = arith.addf %product, %sum : f32
    linalg.yield %next : f32
  } -> tensor<8x16xf32>
  return %scores : tensor<8x16xf32>
}

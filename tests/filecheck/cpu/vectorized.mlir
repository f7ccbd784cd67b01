// STAGE: vectorized
// A register tile becomes vectors; a product with a sum becomes a contraction.

#left = affine_map<(d0, d1, d2) -> (d0, d2)>
#right = affine_map<(d0, d1, d2) -> (d2, d1)>
#result = affine_map<(d0, d1, d2) -> (d0, d1)>

func.func @step(%k: tensor<4x1xf32>, %q: tensor<1x16xf32>, %init: tensor<4x16xf32>) -> tensor<4x16xf32> {
  // CHECK-NOT: linalg.generic
  // CHECK: vector.contract {{.*}} : vector<4x1xf32>, vector<1x16xf32> into vector<4x16xf32>
  // CHECK: vector.transfer_write {{.*}} : vector<4x16xf32>, tensor<4x16xf32>
  %sum = linalg.generic {indexing_maps = [#left, #right, #result], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%k, %q : tensor<4x1xf32>, tensor<1x16xf32>) outs(%init : tensor<4x16xf32>) {
  ^bb0(%left: f32, %right: f32, %old: f32):
    %product = arith.mulf %left, %right : f32
    %next = arith.addf %product, %old : f32
    linalg.yield %next : f32
  } -> tensor<4x16xf32>
  return %sum : tensor<4x16xf32>
}

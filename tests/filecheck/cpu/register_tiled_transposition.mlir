// STAGE: register-tiled 8
// Transpositions go through squares of the vector's length, or the largest divisor below it.

#identity = affine_map<(d0, d1) -> (d0, d1)>
#swapped = affine_map<(d0, d1) -> (d1, d0)>

func.func @transpose(%q: tensor<16x12xf32>) -> tensor<12x16xf32> {
  %empty = tensor.empty() : tensor<12x16xf32>
  // CHECK: linalg.generic {{.*}} ins({{.*}} : tensor<8x6xf32>) outs({{.*}} : tensor<6x8xf32>)
  %tile = linalg.generic {indexing_maps = [#swapped, #identity], iterator_types = ["parallel", "parallel"]}
      ins(%q : tensor<16x12xf32>) outs(%empty : tensor<12x16xf32>) {
  ^bb0(%in: f32, %old: f32):
    linalg.yield %in : f32
  } -> tensor<12x16xf32>
  return %tile : tensor<12x16xf32>
}

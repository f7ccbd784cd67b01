// STAGE: register-tiled 16
// Elementwise operations and reductions take four rows at a time, conversions one.

#identity = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d0)>
#transposed = affine_map<(d0, d1) -> (d1, d0)>

func.func @rows(%k: tensor<8x32xf16>, %m: tensor<32xf32>) -> tensor<32xf32> {
  %empty = tensor.empty() : tensor<8x32xf32>
  // CHECK: linalg.generic {{.*}} ins({{.*}} : tensor<1x32xf16>) outs({{.*}} : tensor<1x32xf32>)
  %wide = linalg.generic {indexing_maps = [#identity, #identity], iterator_types = ["parallel", "parallel"]}
      ins(%k : tensor<8x32xf16>) outs(%empty : tensor<8x32xf32>) {
  ^bb0(%in: f16, %old: f32):
    %extended = arith.extf %in : f16 to f32
    linalg.yield %extended : f32
  } -> tensor<8x32xf32>
  // CHECK: linalg.generic {{.*}} outs({{.*}} : tensor<4x32xf32>)
  %negated = linalg.generic {indexing_maps = [#identity], iterator_types = ["parallel", "parallel"]}
      outs(%wide : tensor<8x32xf32>) {
  ^bb0(%old: f32):
    %next = arith.negf %old : f32
    linalg.yield %next : f32
  } -> tensor<8x32xf32>
  // CHECK: linalg.generic {{.*}}["parallel", "reduction"]{{.*}} ins({{.*}} : tensor<4x32xf32>) outs({{.*}} : tensor<32xf32>)
  %largest = linalg.generic {indexing_maps = [#transposed, #column], iterator_types = ["parallel", "reduction"]}
      ins(%negated : tensor<8x32xf32>) outs(%m : tensor<32xf32>) {
  ^bb0(%in: f32, %old: f32):
    %next = arith.maximumf %in, %old : f32
    linalg.yield %next : f32
  } -> tensor<32xf32>
  return %largest : tensor<32xf32>
}

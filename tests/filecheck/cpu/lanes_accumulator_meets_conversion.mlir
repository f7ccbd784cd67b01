// STAGE: lanes
// A contraction outside any loop whose result is rounded to memory keeps queries in lanes like the tensor that
// it accumulates into.

#identity = affine_map<(d0, d1) -> (d0, d1)>
#probability = affine_map<(d0, d1, d2) -> (d0, d2)>
#value = affine_map<(d0, d1, d2) -> (d2, d1)>
#result = affine_map<(d0, d1, d2) -> (d0, d1)>

func.func @values(
    %p: tensor<16x8xf32> {harness.dimensions = ["query", "key"], harness.free_layout},
    %v: tensor<8x4xf32> {harness.dimensions = ["key", "width"]},
    %o: tensor<16x4xf16> {harness.dimensions = ["query", "width"]}
) -> tensor<16x4xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x4xf32>
  // CHECK: [[INIT:%.*]] = linalg.fill {{.*}} -> tensor<4x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x4xf32>) -> tensor<16x4xf32>
  // CHECK: linalg.generic {{.*}} outs([[INIT]] : tensor<4x16xf32>)
  %sum = linalg.generic {indexing_maps = [#probability, #value, #result], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%p, %v : tensor<16x8xf32>, tensor<8x4xf32>) outs(%init : tensor<16x4xf32>) {
  ^bb0(%left: f32, %right: f32, %old: f32):
    %product = arith.mulf %left, %right : f32
    %next = arith.addf %product, %old : f32
    linalg.yield %next : f32
  } -> tensor<16x4xf32>
  // CHECK: } -> tensor<4x16xf32>
  %rounded = linalg.generic {indexing_maps = [#identity, #identity], iterator_types = ["parallel", "parallel"]}
      ins(%sum : tensor<16x4xf32>) outs(%o : tensor<16x4xf16>) {
  ^bb0(%in: f32, %old: f16):
    %narrow = arith.truncf %in : f32 to f16
    linalg.yield %narrow : f16
  } -> tensor<16x4xf16>
  return %rounded : tensor<16x4xf16>
}

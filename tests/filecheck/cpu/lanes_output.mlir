// STAGE: lanes
// The division writes the O tile back to memory's layout; rounding to f16 then goes row by row, so that only
// f32 tiles are transposed.  The V slice keeps its layout.

#identity = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#probability = affine_map<(d0, d1, d2) -> (d0, d2)>
#value = affine_map<(d0, d1, d2) -> (d2, d1)>
#result = affine_map<(d0, d1, d2) -> (d0, d1)>

// CHECK-DAG: [[KEPT:#.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: [[SWAPPED:#.*]] = affine_map<(d0, d1) -> (d1, d0)>
func.func @output(
    %p: tensor<16x8xf32> {harness.dimensions = ["query", "key"], harness.free_layout},
    %v: tensor<8x4xf32> {harness.dimensions = ["key", "width"]},
    %total: tensor<16xf32> {harness.dimensions = ["query"]},
    %o: tensor<16x4xf16> {harness.dimensions = ["query", "width"]}
) -> tensor<16x4xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x4xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x4xf32>) -> tensor<16x4xf32>
  // CHECK: [[SUM:%.*]] = linalg.generic
  // CHECK-SAME: ins(%arg1, %arg0 : tensor<8x4xf32>, tensor<8x16xf32>) outs({{.*}} : tensor<4x16xf32>)
  %sum = linalg.generic {indexing_maps = [#probability, #value, #result], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%p, %v : tensor<16x8xf32>, tensor<8x4xf32>) outs(%init : tensor<16x4xf32>) {
  ^bb0(%left: f32, %right: f32, %old: f32):
    %product = arith.mulf %left, %right : f32
    %next = arith.addf %product, %old : f32
    linalg.yield %next : f32
  } -> tensor<16x4xf32>
  %wide = tensor.empty() : tensor<16x4xf32>
  // CHECK: [[QUOTIENT:%.*]] = linalg.generic {indexing_maps = {{\[}}[[SWAPPED]], {{#.*}}, [[KEPT]]]
  // CHECK-SAME: ins([[SUM]], %arg2 : tensor<4x16xf32>, tensor<16xf32>) outs({{.*}} : tensor<16x4xf32>)
  %quotient = linalg.generic {indexing_maps = [#identity, #row, #identity], iterator_types = ["parallel", "parallel"]}
      ins(%sum, %total : tensor<16x4xf32>, tensor<16xf32>) outs(%wide : tensor<16x4xf32>) {
  ^bb0(%left: f32, %right: f32, %old: f32):
    %next = arith.divf %left, %right : f32
    linalg.yield %next : f32
  } -> tensor<16x4xf32>
  // CHECK: linalg.generic {indexing_maps = {{\[}}[[KEPT]], [[KEPT]]]
  // CHECK-SAME: ins([[QUOTIENT]] : tensor<16x4xf32>) outs(%arg3 : tensor<16x4xf16>)
  %rounded = linalg.generic {indexing_maps = [#identity, #identity], iterator_types = ["parallel", "parallel"]}
      ins(%quotient : tensor<16x4xf32>) outs(%o : tensor<16x4xf16>) {
  ^bb0(%in: f32, %old: f16):
    %narrow = arith.truncf %in : f32 to f16
    linalg.yield %narrow : f16
  } -> tensor<16x4xf16>
  return %rounded : tensor<16x4xf16>
}

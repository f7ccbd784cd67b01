// REWRITE: decompose
// In layout tt both factors are stored transposed.  Products are added up in the type of the initial value.

// CHECK-DAG: [[LEFT:#\w+]] = affine_map<(d0, d1, d2, d3) -> (d0, d3, d1)>
// CHECK-DAG: [[RIGHT:#\w+]] = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
// CHECK-DAG: [[RESULT:#\w+]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// CHECK: linalg.generic {indexing_maps = {{\[}}[[LEFT]], [[RIGHT]], [[RESULT]]],
// CHECK-SAME: iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 {{.*}}outs(%arg2
// CHECK-DAG: [[WIDE_LEFT:%\w+]] = arith.extf {{.*}} f16 to f32
// CHECK-DAG: [[WIDE_RIGHT:%\w+]] = arith.extf {{.*}} f16 to f32
// CHECK: [[PRODUCT:%\w+]] = arith.mulf [[WIDE_LEFT]], [[WIDE_RIGHT]] : f32
// CHECK: arith.addf [[PRODUCT]], {{%\w+}} : f32
func.func @product(%a: tensor<2x8x4xf16>, %b: tensor<2x6x8xf16>, %c: tensor<2x4x6xf32>) -> tensor<2x4x6xf32> {
  %product = "attn.batch_matmul"(%a, %b, %c) {layout = "tt", root}
      : (tensor<2x8x4xf16>, tensor<2x6x8xf16>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  return %product : tensor<2x4x6xf32>
}

// REWRITE: tile-and-fuse sizes=2,0
// Elementwise producers and fills are computed tile by tile; nothing of the whole size is left outside.
#identity = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>

// CHECK: [[EMPTY:%\w+]] = tensor.empty() : tensor<8x4xf32>
// CHECK-NOT: linalg
// CHECK: scf.for [[ROW:%\w+]] = %c0 to %c8 step %c2 iter_args([[WHOLE:%\w+]] = [[EMPTY]])
// CHECK-DAG: [[X:%\w+]] = tensor.extract_slice %arg0{{\[}}[[ROW]], 0] [2, 4]
// CHECK-DAG: [[BIAS:%\w+]] = tensor.extract_slice %arg1{{\[}}[[ROW]]] [2]
// CHECK: [[SUM:%\w+]] = linalg.generic {{.*}} ins([[X]], [[BIAS]] : tensor<2x4xf32>, tensor<2xf32>)
// CHECK: [[ONES:%\w+]] = linalg.fill {{.*}} -> tensor<2x4xf32>
// CHECK: [[PLACE:%\w+]] = tensor.extract_slice [[WHOLE]]{{\[}}[[ROW]], 0] [2, 4]
// CHECK: [[PRODUCT:%\w+]] = linalg.mul ins([[SUM]], [[ONES]] : {{.*}}) outs([[PLACE]] : tensor<2x4xf32>)
// CHECK: tensor.insert_slice [[PRODUCT]] into [[WHOLE]]
// CHECK-NOT: linalg
func.func @chain(%x: tensor<8x4xf32>, %bias: tensor<8xf32>) -> tensor<8x4xf32> {
  %one = arith.constant 1.0 : f32
  %out = tensor.empty() : tensor<8x4xf32>
  %sum_out = tensor.empty() : tensor<8x4xf32>
  %ones_out = tensor.empty() : tensor<8x4xf32>
  %ones = linalg.fill ins(%one : f32) outs(%ones_out : tensor<8x4xf32>) -> tensor<8x4xf32>
  %sum = linalg.generic {indexing_maps = [#identity, #rows, #identity], iterator_types = ["parallel", "parallel"]}
      ins(%x, %bias : tensor<8x4xf32>, tensor<8xf32>) outs(%sum_out : tensor<8x4xf32>) {
  ^bb0(%element: f32, %offset: f32, %old: f32):
    %new = arith.addf %element, %offset : f32
    linalg.yield %new : f32
  } -> tensor<8x4xf32>
  %product = linalg.mul {root} ins(%sum, %ones : tensor<8x4xf32>, tensor<8x4xf32>)
      outs(%out : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %product : tensor<8x4xf32>
}

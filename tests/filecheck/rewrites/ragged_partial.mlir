// REWRITE: tile-and-fuse sizes=4,0,3 ragged=partial
// The last tile is as small as what is left: sizes are dynamic.

// CHECK-DAG: [[ROWS_LEFT:#\w+]] = affine_map<(d0) -> (-d0 + 10)>
// CHECK-DAG: [[AT_MOST_4:#\w+]] = affine_map<(d0) -> (d0, 4)>
// CHECK-DAG: [[COLUMNS_LEFT:#\w+]] = affine_map<(d0) -> (-d0 + 8)>
// CHECK-DAG: [[AT_MOST_3:#\w+]] = affine_map<(d0) -> (d0, 3)>
// CHECK: scf.for [[ROW:%\w+]] = %c0 to %c10 step %c4
// CHECK: [[LEFT:%\w+]] = affine.apply [[ROWS_LEFT]]([[ROW]])
// CHECK: [[ROWS:%\w+]] = affine.min [[AT_MOST_4]]([[LEFT]])
// CHECK: scf.for [[DEPTH:%\w+]] = {{.*}} to %c8 step %c3
// CHECK: [[REST:%\w+]] = affine.apply [[COLUMNS_LEFT]]([[DEPTH]])
// CHECK: [[COLUMNS:%\w+]] = affine.min [[AT_MOST_3]]([[REST]])
// CHECK: tensor.extract_slice %arg0{{\[}}[[ROW]], [[DEPTH]]] {{\[}}[[ROWS]], [[COLUMNS]]]
// CHECK: tensor.extract_slice %arg1{{\[}}[[DEPTH]], 0] {{\[}}[[COLUMNS]], 5]
// CHECK: linalg.matmul {{.*}} -> tensor<?x5xf32>
func.func @matmul(%a: tensor<10x8xf32>, %b: tensor<8x5xf32>) -> tensor<10x5xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<10x5xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<10x5xf32>) -> tensor<10x5xf32>
  %product = linalg.matmul {root} ins(%a, %b : tensor<10x8xf32>, tensor<8x5xf32>)
      outs(%zeros : tensor<10x5xf32>) -> tensor<10x5xf32>
  return %product : tensor<10x5xf32>
}

// REWRITE: tile-and-fuse sizes=2,0
// A producer whose result the function returns, too, is fused; the loop yields its tiles as a second result.

// CHECK: [[LOOP:%\w+]]:2 = scf.for [[ROW:%\w+]] = %c0 to %c8 step %c2
// CHECK-SAME: iter_args([[FIRST:%\w+]] = {{.*}}, [[SECOND:%\w+]] = {{.*}})
// CHECK: [[EXPONENTIAL:%\w+]] = linalg.exp ins({{.*}} : tensor<2x4xf32>)
// CHECK-NOT: linalg.exp
// CHECK: [[NEGATED:%\w+]] = linalg.negf ins([[EXPONENTIAL]] : tensor<2x4xf32>)
// CHECK-DAG: [[NEW_FIRST:%\w+]] = tensor.insert_slice [[NEGATED]] into [[FIRST]]{{\[}}[[ROW]], 0] [2, 4]
// CHECK-DAG: [[NEW_SECOND:%\w+]] = tensor.insert_slice [[EXPONENTIAL]] into [[SECOND]]{{\[}}[[ROW]], 0] [2, 4]
// CHECK: scf.yield [[NEW_FIRST]], [[NEW_SECOND]]
// CHECK: return [[LOOP]]#0, [[LOOP]]#1
func.func @chain(%x: tensor<8x4xf32>, %out: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %empty = tensor.empty() : tensor<8x4xf32>
  %exponential = linalg.exp {keep} ins(%x : tensor<8x4xf32>) outs(%empty : tensor<8x4xf32>) -> tensor<8x4xf32>
  %negated = linalg.negf {root} ins(%exponential : tensor<8x4xf32>) outs(%out : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %negated, %exponential : tensor<8x4xf32>, tensor<8x4xf32>
}

// REWRITE: tile-and-fuse sizes=1,4,0,4 grid=2 drop=0
// With the queries outside, as one grid with the batch, the loop over keys carries the tile of one iteration, and
// yields the new statistics as they are.

// CHECK: scf.forall ([[BATCH:%\w+]], [[NUMBER:%\w+]]) in (2, 2)
// CHECK: [[QUERY:%\w+]] = affine.apply {{.*}}([[NUMBER]])
// CHECK: [[LOOP:%\w+]]:3 = scf.for [[KEY:%\w+]] = %c0 to %c12 step %c4
// CHECK-SAME: iter_args([[OUTPUT:%\w+]] = {{.*}}, [[MAXIMUM:%\w+]] = {{.*}}, [[TOTAL:%\w+]] = {{%\w+}})
// CHECK-SAME: -> (tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>)
// CHECK: [[SCORE:%\w+]] = "attn.batch_matmul"
// CHECK: [[SOFTMAX:%\w+]]:4 = "attn.softmax"([[SCORE]], {{%\w+}}, [[MAXIMUM]], [[TOTAL]], {{.*}}dimension = 1
// CHECK: [[DIAGONAL:%\w+]] = "attn.diag"([[SOFTMAX]]#3,
// CHECK: [[RESCALED:%\w+]] = "attn.batch_matmul"([[DIAGONAL]], [[OUTPUT]],
// CHECK: [[NEW:%\w+]] = "attn.batch_matmul"([[SOFTMAX]]#0, {{%\w+}}, [[RESCALED]])
// CHECK: scf.yield [[NEW]], [[SOFTMAX]]#1, [[SOFTMAX]]#2
// CHECK: tensor.parallel_insert_slice [[LOOP]]#0 into {{%\w+}}{{\[}}[[BATCH]], [[QUERY]], 0]
func.func @attention(%q: tensor<2x8x4xf32>, %k: tensor<2x12x4xf32>, %v: tensor<2x12x4xf32>) -> tensor<2x8x4xf32> {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant -1.0e+30 : f32
  %matrix = tensor.empty() : tensor<2x8x12xf32>
  %row = tensor.empty() : tensor<2x8xf32>
  %wide = tensor.empty() : tensor<2x8x4xf32>
  %no_score = linalg.fill ins(%zero : f32) outs(%matrix : tensor<2x8x12xf32>) -> tensor<2x8x12xf32>
  %no_maximum = linalg.fill ins(%lowest : f32) outs(%row : tensor<2x8xf32>) -> tensor<2x8xf32>
  %no_total = linalg.fill ins(%zero : f32) outs(%row : tensor<2x8xf32>) -> tensor<2x8xf32>
  %no_output = linalg.fill ins(%zero : f32) outs(%wide : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %score = "attn.batch_matmul"(%q, %k, %no_score) {layout = "nt"}
      : (tensor<2x8x4xf32>, tensor<2x12x4xf32>, tensor<2x8x12xf32>) -> tensor<2x8x12xf32>
  %softmax:4 = "attn.softmax"(%score, %matrix, %no_maximum, %no_total, %row) {dimension = 2, scale = 1.0 : f32}
      : (tensor<2x8x12xf32>, tensor<2x8x12xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
      -> (tensor<2x8x12xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
  %output = "attn.batch_matmul"(%softmax#0, %v, %no_output) {layout = "nn", root}
      : (tensor<2x8x12xf32>, tensor<2x12x4xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %output : tensor<2x8x4xf32>
}

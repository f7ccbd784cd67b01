// REWRITE: tile-and-fuse sizes=1,4,0,4 interchange=0,3,1,2
// The FlashAttention form with the keys outside: the loops carry output, maximum and total of all queries.  The
// product with the values continues from diag(correction) times what is there.

// CHECK: scf.for [[BATCH:%\w+]] = %c0 to %c2 step %c1
// CHECK: scf.for [[KEY:%\w+]] = {{.*}} -> (tensor<1x8x4xf32>, tensor<1x8xf32>, tensor<1x8xf32>)
// CHECK: scf.for [[QUERY:%\w+]] = {{.*}} step
// CHECK-SAME: iter_args([[OUTPUTS:%\w+]] = {{.*}}, [[MAXIMA:%\w+]] = {{.*}}, [[TOTALS:%\w+]] = {{.*}}) ->
// CHECK: [[OUTPUT:%\w+]] = tensor.extract_slice [[OUTPUTS]][0, [[QUERY]], 0] [1, 4, 4]
// CHECK: [[MAXIMUM:%\w+]] = tensor.extract_slice [[MAXIMA]][0, [[QUERY]]] [1, 4]
// CHECK: [[TOTAL:%\w+]] = tensor.extract_slice [[TOTALS]][0, [[QUERY]]] [1, 4]
// CHECK: [[Q:%\w+]] = tensor.extract_slice %arg0{{\[}}[[BATCH]], [[QUERY]], 0] [1, 4, 4]
// CHECK: [[K:%\w+]] = tensor.extract_slice %arg1{{\[}}[[BATCH]], [[KEY]], 0] [1, 4, 4]
// CHECK: [[SCORE:%\w+]] = "attn.batch_matmul"([[Q]], [[K]],
// CHECK: [[SOFTMAX:%\w+]]:4 = "attn.softmax"([[SCORE]], {{%\w+}}, [[MAXIMUM]], [[TOTAL]],
// CHECK: [[DIAGONAL:%\w+]] = "attn.diag"([[SOFTMAX]]#3,
// CHECK: [[RESCALED:%\w+]] = "attn.batch_matmul"([[DIAGONAL]], [[OUTPUT]],
// CHECK: [[V:%\w+]] = tensor.extract_slice %arg2{{\[}}[[BATCH]], [[KEY]], 0] [1, 4, 4]
// CHECK: [[NEW:%\w+]] = "attn.batch_matmul"([[SOFTMAX]]#0, [[V]], [[RESCALED]])
// CHECK-DAG: tensor.insert_slice [[NEW]] into [[OUTPUTS]][0, [[QUERY]], 0]
// CHECK-DAG: tensor.insert_slice [[SOFTMAX]]#1 into [[MAXIMA]][0, [[QUERY]]]
// CHECK-DAG: tensor.insert_slice [[SOFTMAX]]#2 into [[TOTALS]][0, [[QUERY]]]
// CHECK: scf.yield
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

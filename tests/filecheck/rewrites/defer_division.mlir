// REWRITE: defer-division
// The softmax leaves out the division, and the rows of the product are divided by its total; 0 / 0 is 0.

// CHECK: [[SOFTMAX:%\w+]]:4 = "attn.unnormalized_softmax"(%arg0, {{%\w+}}, %arg1, %arg2, {{.*}}scale = 5.000000e-01
// CHECK-NOT: "attn.softmax"
// CHECK: [[PRODUCT:%\w+]] = "attn.batch_matmul"([[SOFTMAX]]#0, %arg3,
// CHECK: [[DIVIDED:%\w+]] = linalg.generic {{.*}} ins([[PRODUCT]], [[SOFTMAX]]#2 :
// CHECK: ([[ELEMENT:%\w+]]: f32, [[TOTAL:%\w+]]: f32, {{.*}}):
// CHECK: [[EMPTY:%\w+]] = arith.cmpf oeq, [[TOTAL]]
// CHECK: [[DIVISOR:%\w+]] = arith.select [[EMPTY]], {{%\w+}}, [[TOTAL]]
// CHECK: arith.divf [[ELEMENT]], [[DIVISOR]]
// CHECK: return [[DIVIDED]]
func.func @weighted(%x: tensor<8x12xf32>, %m: tensor<8xf32>, %a: tensor<8xf32>, %v: tensor<12x4xf32>)
    -> tensor<8x4xf32> {
  %zero = arith.constant 0.0 : f32
  %matrix = tensor.empty() : tensor<8x12xf32>
  %row = tensor.empty() : tensor<8xf32>
  %wide = tensor.empty() : tensor<8x4xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%wide : tensor<8x4xf32>) -> tensor<8x4xf32>
  %softmax:4 = "attn.softmax"(%x, %matrix, %m, %a, %row) {dimension = 1, scale = 0.5 : f32, root}
      : (tensor<8x12xf32>, tensor<8x12xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
      -> (tensor<8x12xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  %output = "attn.batch_matmul"(%softmax#0, %v, %zeros) {layout = "nn"}
      : (tensor<8x12xf32>, tensor<12x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %output : tensor<8x4xf32>
}

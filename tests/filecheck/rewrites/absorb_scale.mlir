// REWRITE: absorb-scale
// A constant factor of the scores is multiplied into the softmax's scale: 0.25 · 0.5.

// CHECK: "attn.softmax"(%arg0, {{.*}}scale = 1.250000e-01
#identity = affine_map<(d0, d1) -> (d0, d1)>

func.func @softmax(%x: tensor<8x12xf32>) -> tensor<8x12xf32> {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant -1.0e+30 : f32
  %factor = arith.constant 0.25 : f32
  %row = tensor.empty() : tensor<8xf32>
  %matrix = tensor.empty() : tensor<8x12xf32>
  %no_maximum = linalg.fill ins(%lowest : f32) outs(%row : tensor<8xf32>) -> tensor<8xf32>
  %no_total = linalg.fill ins(%zero : f32) outs(%row : tensor<8xf32>) -> tensor<8xf32>
  %scaled = linalg.generic {indexing_maps = [#identity, #identity], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x12xf32>) outs(%matrix : tensor<8x12xf32>) {
  ^bb0(%element: f32, %old: f32):
    %new = arith.mulf %element, %factor : f32
    linalg.yield %new : f32
  } -> tensor<8x12xf32>
  %softmax:4 = "attn.softmax"(%scaled, %matrix, %no_maximum, %no_total, %row) {dimension = 1, scale = 0.5 : f32, root}
      : (tensor<8x12xf32>, tensor<8x12xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
      -> (tensor<8x12xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return %softmax#0 : tensor<8x12xf32>
}

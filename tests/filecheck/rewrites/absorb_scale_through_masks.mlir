// REWRITE: absorb-scale
// Scores that masks hide stay −inf whatever their factor, so that it can be taken from before the masks.
#identity = affine_map<(d0, d1) -> (d0, d1)>
#causal = affine_map<(d0, d1) -> (d0 - d1)>

// CHECK: [[MASKED:%\w+]] = "attn.mask"(%arg0,
// CHECK: [[TWICE:%\w+]] = "attn.row_mask"([[MASKED]],
// CHECK: "attn.softmax"([[TWICE]], {{.*}}scale = 2.500000e-01
func.func @softmax(%x: tensor<8x12xf32>, %first: tensor<8xi32>, %end: tensor<8xi32>) -> tensor<8x12xf32> {
  %c0 = arith.constant 0 : index
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
    %new = arith.mulf %factor, %element : f32
    linalg.yield %new : f32
  } -> tensor<8x12xf32>
  %masked = "attn.mask"(%scaled, %c0, %c0)
      {visible = #causal, dimensions = array<i64: 0, 1>, fill = 0xFF800000 : f32}
      : (tensor<8x12xf32>, index, index) -> tensor<8x12xf32>
  %twice = "attn.row_mask"(%masked, %first, %end, %c0) {fill = 0xFF800000 : f32}
      : (tensor<8x12xf32>, tensor<8xi32>, tensor<8xi32>, index) -> tensor<8x12xf32>
  %softmax:4 = "attn.softmax"(%twice, %matrix, %no_maximum, %no_total, %row) {dimension = 1, scale = 1.0 : f32, root}
      : (tensor<8x12xf32>, tensor<8x12xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
      -> (tensor<8x12xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return %softmax#0 : tensor<8x12xf32>
}

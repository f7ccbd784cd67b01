// REWRITE: tile-and-fuse sizes=2,0
// An operation of which two results are needed is computed once for each tile.  Its reduced dimension is not tiled.
#all = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>

// CHECK: scf.for
// CHECK: [[SOFTMAX:%\w+]]:4 = "attn.softmax"({{.*}} (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2xf32>,
// CHECK-NOT: attn.softmax
// CHECK: linalg.generic {{.*}} ins([[SOFTMAX]]#0, [[SOFTMAX]]#2 : tensor<2x4xf32>, tensor<2xf32>)
func.func @weights(%x: tensor<8x4xf32>, %m: tensor<8xf32>, %a: tensor<8xf32>, %out: tensor<8x4xf32>)
    -> tensor<8x4xf32> {
  %matrix = tensor.empty() : tensor<8x4xf32>
  %row = tensor.empty() : tensor<8xf32>
  %softmax:4 = "attn.softmax"(%x, %matrix, %m, %a, %row) {dimension = 1, scale = 1.0 : f32}
      : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
      -> (tensor<8x4xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  %weights = linalg.generic {root, indexing_maps = [#all, #rows, #all], iterator_types = ["parallel", "parallel"]}
      ins(%softmax#0, %softmax#2 : tensor<8x4xf32>, tensor<8xf32>) outs(%out : tensor<8x4xf32>) {
  ^bb0(%probability: f32, %total: f32, %old: f32):
    %weight = arith.mulf %probability, %total : f32
    linalg.yield %weight : f32
  } -> tensor<8x4xf32>
  return %weights : tensor<8x4xf32>
}

// REWRITE: split-at-masks
// Row i sees keys i - 6 … i: tiles are cut on both sides of those that are seen whole, and share a loop.

// CHECK: [[WHOLE:%\w+]]:3 = scf.for {{.*}} = [[WHOLE_START:%\w+]] to [[WHOLE_END:%\w+]] step %c4
// CHECK-NOT: attn.mask
// CHECK: scf.yield
// CHECK: [[CUT:%\w+]]:3 = scf.for [[KEY:%\w+]] = {{.*}} step %c4 iter_args({{.*}} = [[WHOLE]]#0,
// CHECK: arith.cmpi slt, [[KEY]], [[WHOLE_START]]
// CHECK: [[TILE:%\w+]] = arith.select {{.*}}, [[KEY]],
// CHECK: attn.mask{{.*}}, [[TILE]])
// CHECK: scf.yield
// CHECK: return [[CUT]]#0
func.func @attention(%score: tensor<4x16xf32>, %v: tensor<16x8xf32>, %m: tensor<4xf32>, %a: tensor<4xf32>,
                     %o: tensor<4x8xf32>, %row: index) -> tensor<4x8xf32> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %matrix = tensor.empty() : tensor<4x4xf32>
  %rows = tensor.empty() : tensor<4xf32>
  %loop:3 = scf.for %key = %c0 to %c16 step %c4 iter_args(%old = %o, %maximum = %m, %total = %a)
      -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) {
    %tile = tensor.extract_slice %score[0, %key] [4, 4] [1, 1] : tensor<4x16xf32> to tensor<4x4xf32>
    %values = tensor.extract_slice %v[%key, 0] [4, 8] [1, 1] : tensor<16x8xf32> to tensor<4x8xf32>
    %masked = "attn.mask"(%tile, %row, %key)
        {visible = affine_map<(d0, d1) -> (d0 - d1, d1 - d0 + 6)>,
         dimensions = array<i64: 0, 1>, fill = 0xFF800000 : f32}
        : (tensor<4x4xf32>, index, index) -> tensor<4x4xf32>
    %softmax:4 = "attn.softmax"(%masked, %matrix, %maximum, %total, %rows) {dimension = 1, scale = 1.0 : f32}
        : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
        -> (tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    %new = "attn.batch_matmul"(%softmax#0, %values, %old) {layout = "nn"}
        : (tensor<4x4xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    scf.yield %new, %softmax#1, %softmax#2 : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  } {root}
  return %loop#0 : tensor<4x8xf32>
}

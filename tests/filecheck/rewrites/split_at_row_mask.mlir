// REWRITE: split-at-masks row-bounds=4,8,12,15
// What a mask of rows leaves is not in the mask but given: keys 4 … 15, of which 8 … 12 are seen by all rows.

// CHECK: [[WHOLE:%\w+]]:3 = scf.for {{.*}} = {{%c8\w*}} to {{%c12\w*}} step %c4 iter_args({{.*}} = %arg4,
// CHECK-NOT: attn.row_mask
// CHECK: scf.yield
// CHECK: [[CUT:%\w+]]:3 = scf.for [[KEY:%\w+]] = {{%c4\w*}} to {{%c11\w*}} step %c4 iter_args({{.*}} = [[WHOLE]]#0,
// CHECK: [[BEFORE:%\w+]] = arith.cmpi slt, [[KEY]], {{%c8\w*}}
// CHECK: [[AFTER:%\w+]] = arith.addi [[KEY]], {{%c4\w*}}
// CHECK: [[TILE:%\w+]] = arith.select [[BEFORE]], [[KEY]], [[AFTER]]
// CHECK: tensor.extract_slice {{.*}}[0, [[TILE]]]
// CHECK: attn.row_mask{{.*}}, [[TILE]])
// CHECK: scf.yield
// CHECK: return [[CUT]]#0
func.func @attention(%score: tensor<4x16xf32>, %v: tensor<16x8xf32>, %m: tensor<4xf32>, %a: tensor<4xf32>,
                     %o: tensor<4x8xf32>, %first: tensor<4xi32>, %end: tensor<4xi32>) -> tensor<4x8xf32> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %matrix = tensor.empty() : tensor<4x4xf32>
  %rows = tensor.empty() : tensor<4xf32>
  %loop:3 = scf.for %key = %c0 to %c16 step %c4 iter_args(%old = %o, %maximum = %m, %total = %a)
      -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) {
    %tile = tensor.extract_slice %score[0, %key] [4, 4] [1, 1] : tensor<4x16xf32> to tensor<4x4xf32>
    %values = tensor.extract_slice %v[%key, 0] [4, 8] [1, 1] : tensor<16x8xf32> to tensor<4x8xf32>
    %masked = "attn.row_mask"(%tile, %first, %end, %key) {fill = 0xFF800000 : f32}
        : (tensor<4x4xf32>, tensor<4xi32>, tensor<4xi32>, index) -> tensor<4x4xf32>
    %softmax:4 = "attn.softmax"(%masked, %matrix, %maximum, %total, %rows) {dimension = 1, scale = 1.0 : f32}
        : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
        -> (tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    %new = "attn.batch_matmul"(%softmax#0, %values, %old) {layout = "nn"}
        : (tensor<4x4xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    scf.yield %new, %softmax#1, %softmax#2 : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  } {root}
  return %loop#0 : tensor<4x8xf32>
}

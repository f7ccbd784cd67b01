// REWRITE: split-reduction parts=3
// Four key tiles in three parts: each starts from nothing at its share of the tiles; what it gives is weighted
// by how far its maximum is below that of all parts so far.

// CHECK-DAG: [[TIMES_4:#\w+]] = affine_map<(d0) -> (d0 * 4)>
// CHECK-DAG: [[THIRD:#\w+]] = affine_map<(d0) -> (d0 floordiv 3)>
// CHECK-DAG: [[NEXT:#\w+]] = affine_map<(d0) -> (d0 + 4)>
// CHECK: [[MERGED:%\w+]]:3 = scf.for [[PART:%\w+]] = {{.*}} iter_args([[OLD:%\w+]] = {{%\w+}}, [[M:%\w+]] = {{%\w+}}, [[A:%\w+]] = {{%\w+}})
// CHECK: [[BEFORE:%\w+]] = affine.apply [[TIMES_4]]([[PART]])
// CHECK: [[SHARE:%\w+]] = affine.apply [[THIRD]]([[BEFORE]])
// CHECK: [[FIRST:%\w+]] = affine.apply [[TIMES_4]]([[SHARE]])
// CHECK: affine.apply [[NEXT]]([[BEFORE]])
// CHECK: [[END:%\w+]] = affine.apply [[TIMES_4]](
// CHECK: [[LOWEST:%\w+]] = arith.constant {{.*}}1.000000e+30
// CHECK: linalg.fill ins([[LOWEST]]
// CHECK: [[OWN:%\w+]]:3 = scf.for {{.*}} = [[FIRST]] to [[END]] step
// CHECK: attn.unnormalized_softmax
// CHECK: scf.yield
// CHECK: [[MAXIMUM:%\w+]] = linalg.generic {{.*}} ins([[OWN]]#1 : {{.*}}) outs([[M]] :
// CHECK: arith.maximumf
// CHECK: [[KEPT:%\w+]] = linalg.generic {{.*}} ins([[M]], [[MAXIMUM]] :
// CHECK: math.exp2
// CHECK: [[TAKEN:%\w+]] = linalg.generic {{.*}} ins([[OWN]]#1, [[MAXIMUM]] :
// CHECK: math.exp2
// CHECK: [[TOTAL:%\w+]] = linalg.generic {{.*}} outs([[A]] :
// CHECK: arith.addf
// CHECK: [[OUTPUT:%\w+]] = linalg.generic {{.*}} ins([[KEPT]], [[TAKEN]], [[OWN]]#0 : {{.*}}) outs([[OLD]] :
// CHECK: scf.yield [[OUTPUT]], [[MAXIMUM]], [[TOTAL]]
// CHECK: return [[MERGED]]#0
func.func @attention(%score: tensor<4x16xf32>, %v: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %lowest = arith.constant -1.0e30 : f32
  %zero = arith.constant 0.0 : f32
  %matrix = tensor.empty() : tensor<4x4xf32>
  %rows = tensor.empty() : tensor<4xf32>
  %place = tensor.empty() : tensor<4x8xf32>
  %o = linalg.fill ins(%zero : f32) outs(%place : tensor<4x8xf32>) -> tensor<4x8xf32>
  %m = linalg.fill ins(%lowest : f32) outs(%rows : tensor<4xf32>) -> tensor<4xf32>
  %a = linalg.fill ins(%zero : f32) outs(%rows : tensor<4xf32>) -> tensor<4xf32>
  %loop:3 = scf.for %key = %c0 to %c16 step %c4 iter_args(%old = %o, %maximum = %m, %total = %a)
      -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) {
    %tile = tensor.extract_slice %score[0, %key] [4, 4] [1, 1] : tensor<4x16xf32> to tensor<4x4xf32>
    %values = tensor.extract_slice %v[%key, 0] [4, 8] [1, 1] : tensor<16x8xf32> to tensor<4x8xf32>
    %softmax:4 = "attn.unnormalized_softmax"(%tile, %matrix, %maximum, %total, %rows)
        {dimension = 1, scale = 1.0 : f32}
        : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
        -> (tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    %new = "attn.batch_matmul"(%softmax#0, %values, %old) {layout = "nn"}
        : (tensor<4x4xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    scf.yield %new, %softmax#1, %softmax#2 : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
  } {root}
  return %loop#0 : tensor<4x8xf32>
}

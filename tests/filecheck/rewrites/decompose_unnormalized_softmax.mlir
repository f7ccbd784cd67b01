// REWRITE: decompose
// The same without any division: the exponentials are the first result, the power of the maxima's difference is
// the last one.

// CHECK: [[MAXIMUM:%\w+]] = linalg.generic {{.*}}"reduction"]} ins(%arg0 {{.*}} outs(%arg2
// CHECK: [[CORRECTION:%\w+]] = linalg.generic {{.*}} ins(%arg2, [[MAXIMUM]] {{.*}} outs(%arg4
// CHECK: math.exp2
// CHECK: [[EXPONENTIAL:%\w+]] = linalg.generic {{.*}} outs(%arg0
// CHECK: math.exp2
// CHECK: [[KEPT:%\w+]] = linalg.generic {{.*}} ins([[CORRECTION]] {{.*}} outs(%arg3
// CHECK: [[TOTAL:%\w+]] = linalg.generic {{.*}}"reduction"]} ins([[EXPONENTIAL]] {{.*}} outs([[KEPT]]
// CHECK-NOT: arith.divf
// CHECK: return [[EXPONENTIAL]], [[MAXIMUM]], [[TOTAL]], [[CORRECTION]]
func.func @softmax(%x: tensor<4x8xf32>, %out: tensor<4x8xf32>, %m: tensor<4xf32>, %a: tensor<4xf32>, %s: tensor<4xf32>)
    -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %softmax:4 = "attn.unnormalized_softmax"(%x, %out, %m, %a, %s) {dimension = 1, scale = 0.5 : f32, root}
      : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
      -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %softmax#0, %softmax#1, %softmax#2, %softmax#3 : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

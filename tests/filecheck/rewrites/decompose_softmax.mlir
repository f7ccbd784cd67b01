// REWRITE: decompose
// Exponentials are powers of two, with log2 e times the scale in the exponent.  A new maximum, what it does to the
// old total, the exponentials in place of the scores, the total from there on, and the division of both.

// CHECK: [[MAXIMUM:%\w+]] = linalg.generic {{.*}}"reduction"]} ins(%arg0 {{.*}} outs(%arg2
// CHECK: arith.maximumf
// CHECK: [[FACTOR:%\w+]] = linalg.generic {{.*}} ins(%arg2, [[MAXIMUM]] {{.*}} outs(%arg4
// CHECK: arith.constant -0.721347
// CHECK-NEXT: arith.mulf
// CHECK: arith.mulf
// CHECK-NEXT: arith.subf
// CHECK-NEXT: math.exp2
// CHECK: [[SHIFT:%\w+]] = linalg.generic {{.*}} ins([[MAXIMUM]]
// CHECK: [[EXPONENTIAL:%\w+]] = linalg.generic {{.*}} ins([[SHIFT]] {{.*}} outs(%arg0
// CHECK: math.fma
// CHECK-NEXT: math.exp2
// CHECK: [[KEPT:%\w+]] = linalg.generic {{.*}} ins([[FACTOR]] {{.*}} outs(%arg3
// CHECK: arith.mulf
// CHECK: [[TOTAL:%\w+]] = linalg.generic {{.*}}"reduction"]} ins([[EXPONENTIAL]] {{.*}} outs([[KEPT]]
// CHECK: arith.addf
// CHECK: [[PROBABILITY:%\w+]] = linalg.generic {{.*}} ins([[TOTAL]] {{.*}} outs([[EXPONENTIAL]]
// CHECK: arith.divf
// CHECK: [[CORRECTION:%\w+]] = linalg.generic {{.*}} ins([[KEPT]], [[TOTAL]] {{.*}} outs(%arg4
// CHECK: arith.divf
// CHECK: return [[PROBABILITY]], [[MAXIMUM]], [[TOTAL]], [[CORRECTION]]
func.func @softmax(%x: tensor<4x8xf32>, %out: tensor<4x8xf32>, %m: tensor<4xf32>, %a: tensor<4xf32>, %s: tensor<4xf32>)
    -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %softmax:4 = "attn.softmax"(%x, %out, %m, %a, %s) {dimension = 1, scale = 0.5 : f32, root}
      : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
      -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %softmax#0, %softmax#1, %softmax#2, %softmax#3 : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

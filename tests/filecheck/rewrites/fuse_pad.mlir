// REWRITE: tile-and-fuse sizes=4,0
// A tile is the rows of it that lie inside of the source, and what is missing padded.

// CHECK: [[ZERO:%\w+]] = arith.constant 0.0
// CHECK-NOT: linalg
// CHECK: scf.for
// CHECK: [[X:%\w+]] = tensor.extract_slice %arg0{{\[}}[[FIRST:%\w+]], 0] {{\[}}[[COUNT:%\w+]], 5]
// CHECK: [[PLACE:%\w+]] = tensor.empty([[COUNT]])
// CHECK: [[INSIDE:%\w+]] = linalg.exp ins([[X]] : tensor<?x5xf32>) outs([[PLACE]] : tensor<?x5xf32>)
// CHECK: [[TILE:%\w+]] = tensor.pad [[INSIDE]] low[{{%\w+}}, 0] high[{{%\w+}}, 0]
// CHECK: tensor.yield [[ZERO]]
// CHECK: tensor<?x5xf32> to tensor<4x5xf32>
// CHECK: linalg.negf ins([[TILE]] : tensor<4x5xf32>)
func.func @padded(%x: tensor<6x5xf32>) -> tensor<8x5xf32> {
  %zero = arith.constant 0.0 : f32
  %short = tensor.empty() : tensor<6x5xf32>
  %empty = tensor.empty() : tensor<8x5xf32>
  %exponential = linalg.exp ins(%x : tensor<6x5xf32>) outs(%short : tensor<6x5xf32>) -> tensor<6x5xf32>
  %padded = tensor.pad %exponential low[0, 0] high[2, 0] {
  ^bb0(%row: index, %column: index):
    tensor.yield %zero : f32
  } : tensor<6x5xf32> to tensor<8x5xf32>
  %negated = linalg.negf {root} ins(%padded : tensor<8x5xf32>) outs(%empty : tensor<8x5xf32>) -> tensor<8x5xf32>
  return %negated : tensor<8x5xf32>
}

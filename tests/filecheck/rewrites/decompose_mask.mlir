// REWRITE: decompose
// What does not depend on the element is computed before the loops: of the first inequality row + shift - column
// of the tile's corner, of the second one 2 column - head - 3.  Inside, terms with a minus stand on the right.
// What the kernel was given stays as it is.
#visible = affine_map<(d0, d1, d2)[s0] -> (d1 - d2 + s0, d2 * 2 - d0 - 3)>

// CHECK-DAG: [[FIRST_CORNER:#\w+]] = affine_map<(d0, d1, d2) -> (d0 - d1 + d2)>
// CHECK-DAG: [[SECOND_CORNER:#\w+]] = affine_map<(d0, d1) -> (d0 * 2 - d1 - 3)>
// CHECK: [[FIRST_INDEX:%\w+]] = affine.apply [[FIRST_CORNER]](%arg2, %arg3, %arg4)
// CHECK: [[FIRST:%\w+]] = arith.index_cast [[FIRST_INDEX]] : index to i32
// CHECK: [[SECOND_INDEX:%\w+]] = affine.apply [[SECOND_CORNER]](%arg3, %arg1)
// CHECK: [[SECOND:%\w+]] = arith.index_cast [[SECOND_INDEX]] : index to i32
// CHECK: [[EMPTY:%\w+]] = tensor.empty() : tensor<4x8xf32>
// CHECK: linalg.generic {{.*}} ins(%arg0{{.*}} outs([[EMPTY]]
// CHECK: ([[ELEMENT:%\w+]]: f32, [[OLD:%\w+]]: f32):
// CHECK: linalg.index 0
// CHECK: [[LEFT:%\w+]] = arith.addi [[FIRST]],
// CHECK: linalg.index 1
// CHECK: [[COLUMN:%\w+]] = arith.index_cast
// CHECK: [[ONE:%\w+]] = arith.cmpi sge, [[LEFT]], [[COLUMN]]
// CHECK: [[TWICE:%\w+]] = arith.muli
// CHECK: [[SUM:%\w+]] = arith.addi [[SECOND]], [[TWICE]]
// CHECK: [[OTHER:%\w+]] = arith.cmpi sge, [[SUM]], %c0
// CHECK: [[VISIBLE:%\w+]] = arith.andi [[ONE]], [[OTHER]]
// CHECK: [[HIDDEN:%\w+]] = arith.constant 0xFF800000
// CHECK: arith.select [[VISIBLE]], [[ELEMENT]], [[HIDDEN]]
func.func @masked(%x: tensor<4x8xf32>, %head: index, %row: index, %column: index, %shift: index) -> tensor<4x8xf32> {
  %masked = "attn.mask"(%x, %head, %row, %column, %shift)
      {visible = #visible, dimensions = array<i64: 1, 2>, fill = 0xFF800000 : f32, root}
      : (tensor<4x8xf32>, index, index, index, index) -> tensor<4x8xf32>
  return %masked : tensor<4x8xf32>
}

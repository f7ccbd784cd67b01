// REWRITE: key-tile-bounds batch=3 keys=40 rows=4 step=8 causal
// A loop over the sequences takes those that have a query among rows first … first + 4 into the bounds: the
// least and the largest first key, the least and the largest end, and how many of the rows they are.  The end of
// a causal row is its position, moved so that the last query sees the last key.

// CHECK-DAG: [[NEXT:#\w+]] = affine_map<(d0) -> (d0 + 1)>
// CHECK-DAG: [[DIFFERENCE:#\w+]] = affine_map<(d0, d1) -> (d0 - d1)>
// CHECK-DAG: [[SUM:#\w+]] = affine_map<(d0, d1) -> (d0 + d1)>
// CHECK-DAG: [[ROWS_END:#\w+]] = affine_map<(d0) -> (d0 + 4)>
// CHECK: [[BOUNDS:%\w+]]:5 = scf.for [[SEQUENCE:%\w+]] = %c0 to %c3 step %c1 iter_args({{.*}}, [[COVERED:%\w+]] = %c0)
// CHECK: tensor.extract %arg0{{\[}}[[SEQUENCE]]]
// CHECK: [[QUERY_END:%\w+]] = arith.index_cast
// CHECK: [[QUERY_END:%\w+]] = arith.index_cast
// CHECK: tensor.extract %arg1{{\[}}[[SEQUENCE]]]
// CHECK: [[KEY:%\w+]] = arith.index_cast
// CHECK: [[KEY_END:%\w+]] = arith.index_cast
// CHECK: [[FIRST:%\w+]] = affine.max {{.*}}({{%\w+}}, %arg2)
// CHECK: [[LAST:%\w+]] = affine.apply [[ROWS_END]](%arg2)
// CHECK: [[END:%\w+]] = affine.min {{.*}}([[QUERY_END]], [[LAST]])
// CHECK: [[SHIFT:%\w+]] = affine.apply [[DIFFERENCE]]([[KEY_END]], [[QUERY_END]])
// CHECK: [[MOVED:%\w+]] = affine.apply [[SUM]]([[FIRST]], [[SHIFT]])
// CHECK: [[SEEN:%\w+]] = affine.apply [[NEXT]]([[MOVED]])
// CHECK: affine.min {{.*}}([[KEY_END]], [[SEEN]])
// CHECK: [[PRESENT:%\w+]] = arith.cmpi slt, [[FIRST]], [[END]]
// CHECK: [[COUNT:%\w+]] = affine.apply [[SUM]]([[COVERED]],
// CHECK: arith.select [[PRESENT]], [[COUNT]], [[COVERED]]
// CHECK: scf.yield
// Rows of no sequence see nothing, so that no tile is whole unless all four are covered.
// CHECK: [[ALL:%\w+]] = arith.cmpi eq, [[BOUNDS]]#4, %c4
// CHECK: arith.select [[ALL]], [[BOUNDS]]#2, %c0
// CHECK: return
func.func @bounds(%query_starts: tensor<4xi32>, %key_starts: tensor<4xi32>, %first_row: index)
    -> (index, index, index, index) {
  %unknown = arith.constant -1 : index
  return %unknown, %unknown, %unknown, %unknown : index, index, index, index
}

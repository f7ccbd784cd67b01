// REWRITE: tile-and-fuse sizes=1,4,0,2 grid=2 drop=0
// The parallel loops outside of the reduction become one loop over the numbers of tiles.  Tiles have no dimension
// for the batch.

// CHECK: [[START:#\w+]] = affine_map<(d0) -> (d0 * 4)>
// CHECK: scf.forall ([[BATCH:%\w+]], [[NUMBER:%\w+]]) in (3, 4) shared_outs([[WHOLE:%\w+]] = %arg2)
// CHECK: [[ROW:%\w+]] = affine.apply [[START]]([[NUMBER]])
// CHECK: [[INIT:%\w+]] = tensor.extract_slice [[WHOLE]]{{\[}}[[BATCH]], [[ROW]], 0] [1, 4, 5] {{.*}} to tensor<4x5xf32>
// CHECK: [[SUM:%\w+]] = scf.for {{.*}} to %c8 step %c2 iter_args({{.*}} = [[INIT]]) -> (tensor<4x5xf32>)
// CHECK: "attn.batch_matmul"({{.*}} (tensor<4x2xf32>, tensor<2x5xf32>, tensor<4x5xf32>)
// CHECK: scf.forall.in_parallel
// CHECK-NEXT: tensor.parallel_insert_slice [[SUM]] into [[WHOLE]]{{\[}}[[BATCH]], [[ROW]], 0] [1, 4, 5]
func.func @matmul(%a: tensor<3x16x8xf32>, %b: tensor<3x8x5xf32>, %c: tensor<3x16x5xf32>) -> tensor<3x16x5xf32> {
  %product = "attn.batch_matmul"(%a, %b, %c) {layout = "nn", root}
      : (tensor<3x16x8xf32>, tensor<3x8x5xf32>, tensor<3x16x5xf32>) -> tensor<3x16x5xf32>
  return %product : tensor<3x16x5xf32>
}

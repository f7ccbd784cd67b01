// STAGE: matrix-operands 16
// Products take bf16 numbers as they were stored: K in place, pair by pair; V, Q and probabilities are packed.

#id = affine_map<(i, j) -> (i, j)>
#rows = affine_map<(m, n, k) -> (m, k)>
#turned = affine_map<(m, n, k) -> (k, m)>
#lanes = affine_map<(m, n, k) -> (k, n)>
#result = affine_map<(m, n, k) -> (m, n)>
func.func @kernel(%k: tensor<16x32xbf16>, %v: tensor<16x32xbf16>, %q: tensor<32x16xf32>, %p: tensor<16x16xf32>,
                  %wide: tensor<16x32xf32>, %s: tensor<16x16xf32>, %o: tensor<32x16xf32>)
    -> (tensor<16x16xf32>, tensor<32x16xf32>) {
  %zero = arith.constant 0.0 : f32
  // CHECK: %[[VALUES:.*]] = scf.for {{.*}} -> (tensor<8x32xi32>)
  // CHECK: arith.ori {{.*}} : vector<32xi32>
  // CHECK: %[[QUERIES:.*]] = scf.for {{.*}} -> (tensor<16x16xi32>)
  // CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.cvtne2ps2bf16.512"
  // CHECK-NOT: arith.extf
  %k_wide = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%k : tensor<16x32xbf16>) outs(%wide : tensor<16x32xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %w = arith.extf %in : bf16 to f32
    linalg.yield %w : f32
  } -> tensor<16x32xf32>
  %nothing = linalg.fill ins(%zero : f32) outs(%s : tensor<16x16xf32>) -> tensor<16x16xf32>
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %arg5) -> (tensor<16x16xf32>)
  // CHECK: scf.for %[[PAIR:.*]] = %c0 to %c16 step %c1 {{.*}} -> (vector<16xf32>, {{.*}})
  // CHECK: vector.transfer_read %[[QUERIES]][%[[PAIR]],
  // CHECK: vector.transfer_read %arg0[{{.*}} : tensor<16x32xbf16>, vector<2xbf16>
  // CHECK: x86vector.avx512.dot
  // CHECK-COUNT-8: vector.transfer_write {{.*}} : vector<16xf32>, tensor<16x16xf32>
  %scores = linalg.generic {indexing_maps = [#rows, #lanes, #result],
                            iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%k_wide, %q : tensor<16x32xf32>, tensor<32x16xf32>) outs(%nothing : tensor<16x16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %x, %c : f32
    linalg.yield %y : f32
  } -> tensor<16x16xf32>
  %v_wide = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%v : tensor<16x32xbf16>) outs(%wide : tensor<16x32xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %w = arith.extf %in : bf16 to f32
    linalg.yield %w : f32
  } -> tensor<16x32xf32>
  // CHECK: vector.transfer_read %{{.*}} : tensor<32x16xf32>, vector<16xf32>
  // CHECK: tensor.extract %[[VALUES]]
  // CHECK: x86vector.avx512.dot
  %weighed = linalg.generic {indexing_maps = [#turned, #lanes, #result],
                             iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%v_wide, %p : tensor<16x32xf32>, tensor<16x16xf32>) outs(%o : tensor<32x16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %x, %c : f32
    linalg.yield %y : f32
  } -> tensor<32x16xf32>
  return %scores, %weighed : tensor<16x16xf32>, tensor<32x16xf32>
}

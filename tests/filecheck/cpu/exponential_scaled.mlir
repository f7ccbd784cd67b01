// STAGE: exponential 16
// AVX-512 takes the fraction of an exponent and scales by its power of two; other lengths have no instructions.

func.func @power(%x: vector<16xf32>, %y: vector<8xf32>) -> (vector<16xf32>, vector<8xf32>) {
  // CHECK-NOT: math.exp2
  // CHECK: [[REST:%.*]] = llvm.call_intrinsic "llvm.x86.avx512.mask.reduce.ps.512"(%arg0
  // CHECK-COUNT-5: math.fma {{.*}}, [[REST]], {{.*}} : vector<16xf32>
  // CHECK: [[RESULT:%.*]] = llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"({{.*}}, %arg0
  // CHECK-COUNT-5: math.fma {{.*}} : vector<8xf32>
  // CHECK: arith.shli {{.*}} : vector<8xi32>
  // CHECK: return [[RESULT]]
  %power = math.exp2 %x : vector<16xf32>
  %short = math.exp2 %y : vector<8xf32>
  return %power, %short : vector<16xf32>, vector<8xf32>
}

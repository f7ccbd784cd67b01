// STAGE: exponential 8
// Clamp, split by rounding, five multiply-adds, times the power of two of the integer part.

func.func @power(%x: f32) -> f32 {
  // CHECK-NOT: math.exp2
  // CHECK: [[SMALL:%.*]] = arith.cmpf olt, %arg0, [[LOWEST:%.*]] : f32
  // CHECK: [[LIMITED:%.*]] = arith.select [[SMALL]], [[LOWEST]], %arg0 : f32
  // CHECK: [[SHIFTED:%.*]] = arith.addf [[LIMITED]]
  // CHECK: [[WHOLE:%.*]] = arith.subf [[SHIFTED]]
  // CHECK: [[REST:%.*]] = arith.subf [[LIMITED]], [[WHOLE]]
  // CHECK-COUNT-5: math.fma {{.*}}, [[REST]], {{.*}} : f32
  // CHECK: [[BITS:%.*]] = arith.bitcast [[SHIFTED]] : f32 to i32
  // CHECK: [[WHOLE_BITS:%.*]] = arith.shli [[BITS]], {{.*}} : i32
  // CHECK: [[POWER:%.*]] = arith.bitcast [[WHOLE_BITS]] : i32 to f32
  // CHECK: [[RESULT:%.*]] = arith.mulf {{.*}}, [[POWER]] : f32
  // CHECK: return [[RESULT]]
  %power = math.exp2 %x : f32
  return %power : f32
}

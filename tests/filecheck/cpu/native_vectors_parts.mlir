// STAGE: native-vectors 16
// A register's part of a row is what was cut there, and what is written for whole registers stays.

func.func @pairs(%x: memref<2x32xf32>, %out: memref<16xi32>) {
  %c0 = arith.constant 0 : index
  // CHECK-COUNT-2: vector.load {{.*}} vector<16xf32>
  // CHECK-NOT: extract_strided_slice
  // CHECK: %[[BITS:.*]] = vector.bitcast %{{.*}} : vector<16xf32> to vector<32xbf16>
  // CHECK: vector.shuffle %[[BITS]], %[[BITS]]
  %row = vector.load %x[%c0, %c0] : memref<2x32xf32>, vector<32xf32>
  %part = vector.extract_strided_slice %row {offsets = [16], sizes = [16], strides = [1]}
    : vector<32xf32> to vector<16xf32>
  %halves = vector.bitcast %part : vector<16xf32> to vector<32xbf16>
  %turned = vector.shuffle %halves, %halves [1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14, 17, 16, 19,
    18, 21, 20, 23, 22, 25, 24, 27, 26, 29, 28, 31, 30] : vector<32xbf16>, vector<32xbf16>
  %bits = vector.bitcast %turned : vector<32xbf16> to vector<16xi32>
  vector.store %bits, %out[%c0] : memref<16xi32>, vector<16xi32>
  return
}

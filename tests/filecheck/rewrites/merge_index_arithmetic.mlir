// REWRITE: merge-index-arithmetic
// Equal expressions of one block are computed once; both branches keep their own, of which neither is executed
// with the other.
#next = affine_map<(d0) -> (d0 + 1)>
#least = affine_map<(d0) -> (d0, 8)>

// CHECK: [[NEXT:%\w+]] = affine.apply {{.*}}(%arg0)
// CHECK-NOT: affine.apply
// CHECK: [[LEAST:%\w+]] = affine.min {{.*}}([[NEXT]])
// CHECK-NOT: affine.min
// CHECK: [[LARGEST:%\w+]] = affine.max {{.*}}([[NEXT]])
// CHECK: [[BRANCH:%\w+]] = scf.if
// CHECK: affine.apply {{.*}}([[NEXT]])
// CHECK: else
// CHECK: affine.apply {{.*}}([[NEXT]])
// CHECK: return [[NEXT]], [[NEXT]], [[LEAST]], [[LEAST]], [[LARGEST]], [[BRANCH]]
func.func @positions(%n: index, %condition: i1) -> (index, index, index, index, index, index) {
  %a = affine.apply #next(%n)
  %b = affine.apply #next(%n)
  %c = affine.min #least(%a)
  %d = affine.min #least(%b)
  %e = affine.max #least(%b)
  %f = scf.if %condition -> index {
    %g = affine.apply #next(%b)
    scf.yield %g : index
  } else {
    %h = affine.apply #next(%b)
    scf.yield %h : index
  }
  return %a, %b, %c, %d, %e, %f : index, index, index, index, index, index
}

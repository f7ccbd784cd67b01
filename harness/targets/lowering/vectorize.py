"""The `vectorized` and `hoisted` stages: tiles become vectors, accumulators loop-carried ones."""

from functools import partial

from mlir import ir
from mlir.dialects import transform
from mlir.dialects.transform import loop, structured

from harness.codegen.ir.walk import operations_within
from harness.targets.lowering.transforms import run_passes, run_script, run_sequence

VECTORIZE = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %functions = transform.structured.match ops{["func.func"]} in %module
      : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %functions {
      transform.apply_patterns.canonicalization
      transform.apply_patterns.tensor.merge_consecutive_insert_extract_slice
    } : !transform.any_op
    %vectorized = transform.structured.vectorize_children_and_apply_patterns %functions
      {vectorize_padding}
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
"""

INNERMOST = "harness.innermost"
OUTER = "harness.outer"


def vectorize(module: ir.Module) -> None:
    """Turn every structured operation on tiles of static size into vector operations, in place."""
    run_script(module, VECTORIZE)
    run_passes(module, "canonicalize", "cse")


def hoist_from_innermost_loops(module: ir.Module) -> None:
    """Carry what an innermost loop reads and writes back in vectors, and move what is invariant out of it.

    Only innermost loops: hoisting from outer ones would quietly remove the recomputation that a variant
    such as `naive` consists of.
    """
    has_innermost = False
    for operation in operations_within(module.operation):
        if operation.name == "scf.for" and not any(
            nested.name in ("scf.for", "scf.forall") for nested in operations_within(operation)
        ):
            operation.attributes[INNERMOST] = ir.UnitAttr.get()
            has_innermost = True
    if has_innermost:
        run_sequence(module, _hoist)
    run_passes(module, "canonicalize", "cse")


def carry_accumulators(module: ir.Module) -> None:
    """Carry in vectors what loops around others read and write back, too; nothing invariant is moved."""
    loops = [op for op in operations_within(module.operation) if op.name == "scf.for"]
    outer = [loop for loop in loops if INNERMOST not in loop.attributes]
    for number, operation in enumerate(outer):
        operation.attributes[OUTER] = ir.IntegerAttr.get(ir.IndexType.get(), number)
    for number in reversed(range(len(outer))):
        run_sequence(module, partial(_hoist_subsets, number=number))
    run_passes(module, "canonicalize", "cse")


def _hoist_subsets(root: ir.Value, number: int) -> None:
    wanted = {OUTER: ir.IntegerAttr.get(ir.IndexType.get(), number)}
    loop.HoistLoopInvariantSubsetsOp(structured.MatchOp(transform.any_op_t(), root, op_attrs=wanted).results_)


def _hoist(root: ir.Value) -> None:
    loops = structured.MatchOp(transform.any_op_t(), root, op_attrs={INNERMOST: ir.UnitAttr.get()}).results_
    transform.ApplyLoopInvariantCodeMotionOp(loops)
    loop.HoistLoopInvariantSubsetsOp(loops)

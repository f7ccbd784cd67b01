"""The `vector-lowered` and `llvm` stages: from n-D vectors on buffers to the LLVM dialect."""

import ml_dtypes
import numpy as np
from mlir import ir
from mlir.dialects import arith, llvm, vector

from harness.codegen.ir.walk import operations_within
from harness.targets.lowering.transforms import replace_operations, run_passes, run_script

LOWER_CONTRACTIONS = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %row_loops = transform.structured.match ops{["scf.forall"]} attributes {harness.inner_loop} in %module
      : (!transform.any_op) -> !transform.any_op
    transform.foreach %row_loops : !transform.any_op {
    ^bb0(%row_loop: !transform.any_op):
      %plain_loop = transform.loop.forall_to_for %row_loop : (!transform.any_op) -> !transform.any_op
    }
    %functions = transform.structured.match ops{["func.func"]} in %module
      : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %functions {
      transform.apply_patterns.vector.lower_contraction lowering_strategy = "outerproduct"
      transform.apply_patterns.vector.transfer_permutation_patterns
      transform.apply_patterns.vector.lower_multi_reduction lowering_strategy = "innerparallel"
    } : !transform.any_op
    transform.yield
  }
}
"""

LOWER_TO_ROWS = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %functions = transform.structured.match ops{["func.func"]} in %module
      : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %functions {
      transform.apply_patterns.vector.lower_outerproduct
      transform.apply_patterns.vector.lower_broadcast
      transform.apply_patterns.vector.lower_transpose lowering_strategy = "TRANSPOSE" AVX2
    } : !transform.any_op
    transform.apply_patterns to %functions {
      transform.apply_patterns.vector.transfer_to_scf max_transfer_rank = 1 full_unroll = true
    } : !transform.any_op
    transform.apply_patterns to %functions {
      transform.apply_patterns.vector.lower_transfer max_transfer_rank = 1
    } : !transform.any_op
    transform.apply_patterns to %functions {
      transform.apply_patterns.vector.cast_away_vector_leading_one_dim
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_patterns to %functions {
      transform.apply_patterns.vector.lower_shape_cast
    } : !transform.any_op
    transform.yield
  }
}
"""

LLVM_PASSES = (
    "canonicalize",
    "cse",
    "convert-vector-to-scf",
    "lower-affine",
    "convert-scf-to-cf",
    "expand-strided-metadata",
    "lower-affine",
    "arith-expand{include-bf16=true}",
    "convert-vector-to-llvm{enable-x86vector=true}",
    "convert-math-to-llvm",
    "convert-arith-to-llvm",
    "convert-index-to-llvm",
    "finalize-memref-to-llvm",
    "convert-func-to-llvm{use-bare-ptr-memref-call-conv=true}",
    "convert-to-llvm",
    "reconcile-unrealized-casts",
    "canonicalize",
    "cse",
)


def lower_vectors(module: ir.Module, vector_length: int) -> None:
    """Turn n-D vectors into rows, contractions into fused multiply-adds, transpositions into shuffles."""
    strategy = "shuffle_16x16" if vector_length >= 16 else "eltwise"
    script = LOWER_TO_ROWS.replace("TRANSPOSE", strategy)
    script = script.replace(" AVX2", " avx2_lowering_strategy = true" if vector_length == 8 else "")
    replace_operations(module, {"vector.multi_reduction": _combined_in_pairs})
    run_script(module, LOWER_CONTRACTIONS)
    if strategy == "shuffle_16x16":
        replace_operations(module, {"vector.transpose": _transposed_by_element})
    run_script(module, script)
    replace_operations(module, {"arith.maximumf": _larger})
    run_passes(module, "canonicalize", "cse")


def lower_to_llvm(module: ir.Module) -> None:
    """Lower to the LLVM dialect, in place; kernels take bare pointers."""
    run_passes(module, *LLVM_PASSES)
    _hold_as_bits(module)


def _hold_as_bits(module: ir.Module) -> None:
    """Let what is bf16 be integers of 16 bits, which is all that is computed with it here but by intrinsics.

    LLVM has no code for vectors of bf16 of some lengths, such as 17, on processors without bf16 arithmetic.
    """
    calls = [
        (call, [operand.type for operand in call.operands], [result.type for result in call.results])
        for call in operations_within(module.operation)
        if call.name == "llvm.call_intrinsic"
    ]
    for operation in operations_within(module.operation):
        for result in operation.operation.results:
            _retype(result)
        for region in operation.operation.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    _retype(argument)
        attributes = operation.operation.attributes
        if "elem_type" in attributes and str(attributes["elem_type"]) == "bf16":
            attributes["elem_type"] = ir.TypeAttr.get(ir.IntegerType.get_signless(16))
        if operation.name == "llvm.mlir.constant":
            attributes["value"] = _bits_of(attributes["value"])
    for call in calls:
        _with_types(*call)


def _with_types(call: ir.OpView, operands: list[ir.Type], results: list[ir.Type]) -> None:
    """Let an intrinsic have the types that it computes with, among what holds numbers as bits."""
    with ir.InsertionPoint(call), call.location:
        for number, kind in enumerate(operands):
            if call.operands[number].type != kind:
                call.operands[number] = llvm.bitcast(kind, call.operands[number])
    for result, kind in zip(call.results, results, strict=True):
        if result.type != kind:
            bits = result.type
            result.set_type(kind)
            with ir.InsertionPoint.after(call), call.location:
                held = llvm.bitcast(bits, result)
            result.replace_all_uses_except(held, ir.OpResult(held).owner.operation)


def _retype(value: ir.Value) -> None:
    bf16, bits = ir.BF16Type.get(), ir.IntegerType.get_signless(16)
    if value.type == bf16:
        value.set_type(bits)
    elif isinstance(value.type, ir.VectorType) and value.type.element_type == bf16:
        value.set_type(ir.VectorType.get(value.type.shape, bits))


def _bits_of(constant: ir.Attribute) -> ir.Attribute:
    """Return a constant of bf16, a vector of one value perhaps, as the integer of its bits."""
    bf16, bits = ir.BF16Type.get(), ir.IntegerType.get_signless(16)
    if isinstance(constant, ir.FloatAttr) and constant.type == bf16:
        pattern = np.array(constant.value, ml_dtypes.bfloat16).view(np.int16)
        return ir.IntegerAttr.get(bits, int(pattern))
    if isinstance(constant, ir.DenseElementsAttr) and constant.type.element_type == bf16:
        element = _bits_of(constant.get_splat_value())
        return ir.DenseElementsAttr.get_splat(ir.VectorType.get(constant.type.shape, bits), element)
    return constant


COMBINE = {"add": arith.addf, "maximumf": arith.maximumf}
"""How two values are combined, by the kind of reduction."""


def _combined_in_pairs(reduction: ir.OpView) -> ir.Value | None:
    """Combine rows with each other first and with the accumulator last.

    An accumulator that takes row after row waits for each, which takes longer than all other work on them.
    """
    source, accumulator = reduction.operands
    dimensions = list(ir.DenseI64ArrayAttr(reduction.attributes["reduction_dims"]))
    transposition = source.owner
    if (
        isinstance(transposition, ir.OpView)
        and transposition.name == "vector.transpose"
        and dimensions == [1]
    ):
        source, dimensions = transposition.operands[0], [0]
    combine = next(
        (COMBINE[kind] for kind in COMBINE if f"<{kind}>" in str(reduction.attributes["kind"])), None
    )
    if combine is None or dimensions != [0] or source.type.rank != 2:
        return None
    rows = [vector.extract(source, [], [row]) for row in range(source.type.shape[0])]
    while len(rows) > 1:
        pairs = [combine(left, right) for left, right in zip(rows[::2], rows[1::2], strict=False)]
        rows = pairs + rows[len(pairs) * 2 :]
    return combine(accumulator, rows[0])


def _transposed_by_element(operation: ir.OpView) -> ir.Value | None:
    """Write a transposition that is not 16 × 16 element by element.

    The strategy for 16 × 16 would flatten it to one long vector, which cannot be cut to registers.
    """
    source, result = operation.operands[0], operation.results[0]
    if result.type.shape == [16, 16]:
        return None
    columns, rows = result.type.shape
    elements = [vector.extract(source, [], [row, column]) for column in range(columns) for row in range(rows)]
    return vector.from_elements(result.type, elements)


def _larger(maximum: ir.OpView) -> ir.Value:
    """Write a vector maximum as compare and select: one `vmaxps` instead of three instructions for NaN.

    A NaN score then need not reach the maximum; it still reaches the exponential, the sum and the output.
    """
    left, right = maximum.operands
    return arith.select(arith.cmpf(arith.CmpFPredicate.OGT, left, right), left, right)

"""The `matrix-operands` stage: products take operands in the type that is stored, as matrix units do.

Payloads widen Q, K and V to f32 first.  A product with an operand that was widened takes it as it was, and
the other one, the probabilities, rounded to the same type.
"""

from mlir import ir
from mlir.dialects import arith

from harness.codegen.ir.constants import is_all_zero
from harness.codegen.ir.walk import operations_within, producer_of
from harness.targets.lowering.transforms import run_passes

WIDENING = "arith.extf"


def narrow_matrix_operands(module: ir.Module) -> None:
    """Let every product of widened values take them as they are, in place."""
    for operation in operations_within(module.operation):
        if operation.name == "vector.contract":
            _narrow(operation)
    run_passes(module, "canonicalize", "cse")


def _narrow(product: ir.OpView) -> None:
    sources = [_before_widening(operand) for operand in list(product.operands)[:2]]
    narrow = next((source.type.element_type for source in sources if source is not None), None)
    if narrow is None:
        return
    for number, source in enumerate(sources):
        if source is None:
            operand = product.operands[number]
            rounded_type = ir.VectorType.get(operand.type.shape, narrow)
            with ir.InsertionPoint(product), product.location:
                source = arith.truncf(rounded_type, operand)
        product.operation.operands[number] = source


def _before_widening(value: ir.Value) -> ir.Value | None:
    """Return what a value was widened from, if it was; what was masked with 0 then, masked before."""
    producer = producer_of(value)
    if producer is None:
        return None
    if producer.name == WIDENING:
        return producer.operands[0]
    if producer.name != "arith.select" or not is_all_zero(producer.operands[2]):
        return None
    condition, kept, _ = producer.operands
    source = _before_widening(kept)
    if source is None:
        return None
    with ir.InsertionPoint(producer), producer.location:
        zero = ir.FloatAttr.get(source.type.element_type, 0.0)
        nothing = arith.constant(source.type, ir.DenseElementsAttr.get_splat(source.type, zero))
        masked: ir.Value = arith.select(condition, source, nothing)
    return masked

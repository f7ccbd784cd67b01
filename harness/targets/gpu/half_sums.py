"""The `half-sums` stage: the product with V adds up in f16, which loops then carry, as an option asks for.

Half the registers hold the output, and two of its numbers are scaled at once.  Each step rounds: an output
of many keys is less exact, and sums beyond 65504 are infinite.  After Menon's talk *High-dimensional layouts
for vector distribution*, whose matrix instructions do so.
"""

from collections.abc import Iterable

from mlir import ir
from mlir.dialects import arith, vector

from harness.codegen.ir.for_loop import ForLoop, initial_operand
from harness.codegen.ir.walk import operations_within, producer_of

NARROWING, WIDENING = "arith.truncf", "arith.extf"


def add_up_in_halves(kernel: ir.OpView) -> None:
    """Let products of probabilities with V, and loops that carry them, have results of f16, in place."""
    products = [operation for operation in operations_within(kernel) if _weighs(operation)]
    carrying: dict[tuple[ir.Operation, int], None] = {}
    for product in products:
        result = product.results[0]
        for use in result.uses:
            loop = use.owner.operation.parent
            if use.owner.name == "scf.yield" and loop.name == "scf.for":
                carrying[loop, use.operand_number] = None
        _narrow(result, ir.InsertionPoint.after(product), {operation for operation, _ in carrying})
    for loop, number in carrying:
        body = ForLoop(loop).body
        _narrow(ForLoop(loop).carried[number], ir.InsertionPoint.at_block_begin(body))
        _narrow(loop.results[number], ir.InsertionPoint.after(loop))
    for loop, number in carrying:
        _narrow_operand(loop, initial_operand(number))
    for product in products:
        _narrow_operand(product.operation, 2)


def _weighs(operation: ir.OpView) -> bool:
    if operation.name != "vector.contract":
        return False
    weights = producer_of(operation.operands[0])
    return weights is not None and weights.name == NARROWING


def _narrow(value: ir.Value, place: ir.InsertionPoint, carrying: Iterable[ir.Operation] = ()) -> None:
    """Make a value of f32 one of f16, widened for its uses but where a loop that carries it takes it."""
    wide = value.type
    uses = [
        use
        for use in value.uses
        if use.owner.operation.parent not in carrying or use.owner.name != "scf.yield"
    ]
    value.set_type(_half(wide))
    if uses:
        with place, ir.Location.unknown():
            widened = arith.extf(wide, value)
        for use in uses:
            use.owner.operands[use.operand_number] = widened


def _narrow_operand(operation: ir.Operation, number: int) -> None:
    with ir.InsertionPoint(operation), operation.location:
        operation.operands[number] = _narrowed(operation.operands[number])


def _narrowed(value: ir.Value) -> ir.Value:
    """Return a value as f16: as it was before it was widened, or the product of two that are."""
    producer = producer_of(value)
    if producer is not None and producer.name == WIDENING:
        return producer.operands[0]
    if producer is not None and producer.name == "arith.mulf":
        scaled: ir.Value = arith.mulf(*(_narrowed(factor) for factor in producer.operands))
        return scaled
    if producer is not None and producer.name == "vector.transpose":
        turned: ir.Value = vector.transpose(
            _half(value.type), _narrowed(producer.operands[0]), producer.attributes["permutation"]
        )
        return turned
    if producer is not None and producer.name == "vector.broadcast":
        spread: ir.Value = vector.broadcast(_half(value.type), _narrowed(producer.operands[0]))
        return spread
    rounded: ir.Value = arith.truncf(_half(value.type), value)
    return rounded


def _half(kind: ir.VectorType) -> ir.VectorType:
    return ir.VectorType.get(kind.shape, ir.F16Type.get())

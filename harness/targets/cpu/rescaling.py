"""The `guarded` stage: rows that factors multiply are left as they are where all factors are 1.

So are sums relative to maxima, in most iterations of a loop whose maxima seldom move.
"""

from mlir import ir
from mlir.dialects import arith, scf, vector

from harness.codegen.ir.for_loop import ForLoop
from harness.codegen.ir.walk import operations_within, producer_of
from harness.targets.lowering.vectorize import INNERMOST

READ, MULTIPLY, WRITE, YIELD = BODY = (
    "vector.transfer_read",
    "arith.mulf",
    "vector.transfer_write",
    "scf.yield",
)
"""What a loop consists of that does nothing but multiply rows."""


def skip_factors_of_one(module: ir.Module) -> None:
    """Let innermost loops that multiply all rows by some factors run only if one is not 1, in place."""
    for operation in operations_within(module.operation):
        if operation.name == "scf.for" and INNERMOST in operation.attributes:
            factors = _factors_of_rows(ForLoop(operation))
            if factors is not None:
                _guard(operation, factors)


def _factors_of_rows(loop: ForLoop) -> ir.Value | None:
    """Return what a loop multiplies each row of a tensor by, None where it does anything else."""
    if [operation.name for operation in loop.body.operations] != list(BODY):
        return None
    read, multiply, write, _ = loop.body.operations
    (tensor,) = loop.carried
    in_place = read.operands[0] == tensor == write.operands[1]
    position = list(read.operands)[1:-1] == list(write.operands)[2:]
    factors = [value for value in multiply.operands if value != read.results[0]]
    if not (in_place and position and write.operands[0] == multiply.results[0] and len(factors) == 1):
        return None
    broadcast = producer_of(factors[0])
    if broadcast is None or broadcast.name != "vector.broadcast":
        return None
    factor = broadcast.operands[0]
    return factor if isinstance(factor.type, ir.VectorType) and factor.type.rank == 1 else None


def _guard(loop: ir.OpView, factors: ir.Value) -> None:
    with ir.InsertionPoint(loop), loop.location:
        ones = arith.constant(
            factors.type, ir.DenseElementsAttr.get_splat(factors.type, ir.FloatAttr.get_f32(1.0))
        )
        changes = arith.cmpf(arith.CmpFPredicate.UNE, factors, ones)
        any_changes = vector.reduction(ir.IntegerType.get_signless(1), vector.CombiningKind.OR, changes)
        guard = scf.IfOp(any_changes, [loop.results[0].type], has_else=True)
    loop.results[0].replace_all_uses_with(guard.results[0])
    with ir.InsertionPoint(guard.then_block), loop.location:
        end = scf.YieldOp([loop.results[0]])
    loop.operation.move_before(end)
    with ir.InsertionPoint(guard.else_block), loop.location:
        scf.YieldOp(ForLoop(loop).initial_values)

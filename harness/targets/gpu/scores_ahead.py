"""The `scores-ahead` stage: a loop computes the next iteration's scores before this one's softmax.

Matrix units then have work while other units are busy with exponentials.  A product of a loop can go ahead
if nothing that the loop carries goes into it: Q·Kᵀ depends on the iteration alone.  The loop carries its
result.  After the last iteration one product too many has been computed, of the last tile once more.
FlashAttention-3 overlaps the same two (Shah et al., *FlashAttention-3: Fast and Accurate Attention with
Asynchrony and Low-precision*, 2024).
"""

from dataclasses import dataclass

from mlir import ir
from mlir.dialects import arith, scf

from harness.ir.for_loop import ForLoop
from harness.ir.walk import operations_within


@dataclass(frozen=True)
class EarlyProduct:
    """A product in a loop that depends on the iteration alone, and what it is computed from there."""

    loop: ir.OpView
    product: ir.OpView
    sources: tuple[ir.OpView, ...]
    """Operations of the loop's body that give its operands, in order."""

    def emit(self, iteration: ir.Value) -> ir.Value:
        """Emit the product of another iteration."""
        known: dict[ir.Value, ir.Value] = {ForLoop(self.loop).position: iteration}
        for operation in (*self.sources, self.product):
            copy = operation.operation.clone()
            for number, operand in enumerate(operation.operands):
                copy.operands[number] = known.get(operand, operand)
            known[operation.results[0]] = copy.results[0]
        return known[self.product.results[0]]


def compute_scores_ahead(function: ir.OpView) -> None:
    """Let each loop that carries a softmax compute its first product an iteration ahead, in place."""
    for loop in [op for op in operations_within(function) if op.name == "scf.for"]:
        found = _early_product(loop)
        if found is not None:
            _carry(found)


def _early_product(loop: ir.OpView) -> EarlyProduct | None:
    """Return the first product of a loop, if it depends on the iteration alone and another one follows."""
    products = [op for op in loop.regions[0].blocks[0].operations if op.operation.name == "vector.contract"]
    if len(products) < 2:
        return None
    product = products[0]
    sources = _sources(product, loop)
    return None if sources is None else EarlyProduct(loop, product, tuple(sources))


def _sources(product: ir.OpView, loop: ir.OpView) -> list[ir.OpView] | None:
    """Return the operations of a loop's body that a product needs; None if it needs what the loop carries."""
    body = loop.regions[0].blocks[0]
    needed: list[ir.OpView] = []

    def visit(value: ir.Value) -> bool:
        owner = value.owner
        if isinstance(owner, ir.Block):
            return owner != body or value == body.arguments[0]
        if owner.operation.block != body or owner.opview in needed:
            return True
        if len(owner.operation.regions) or not all(visit(operand) for operand in owner.operands):
            return False
        needed.append(owner.opview)
        return True

    return needed if all(visit(operand) for operand in product.operands) else None


def _carry(found: EarlyProduct) -> None:
    """Replace the loop by one that carries the product of its next iteration."""
    old = found.loop
    lower, upper, step = ForLoop(old).bounds
    with ir.InsertionPoint(old), old.location:
        some = arith.cmpi(arith.CmpIPredicate.slt, lower, upper)
        first = found.emit(arith.select(some, lower, arith.constant(ir.IndexType.get(), 0)))
        loop = scf.ForOp(lower, upper, step, [*ForLoop(old).initial_values, first])
    for name in old.attributes:
        loop.operation.attributes[name] = old.attributes[name]
    body, new = old.regions[0].blocks[0], loop.body
    with ir.InsertionPoint(new), old.location:
        iteration = loop.induction_variable
        following = arith.addi(iteration, step)
        goes_on = arith.cmpi(arith.CmpIPredicate.slt, following, upper)
        ahead = found.emit(arith.select(goes_on, following, iteration))
        end = scf.YieldOp([])
    found.product.results[0].replace_all_uses_with(loop.inner_iter_args[-1])
    *moved, terminator = list(body.operations)
    for operation in moved:
        operation.operation.move_before(end.operation)
    for argument, replacement in zip(body.arguments, new.arguments, strict=False):
        argument.replace_all_uses_with(replacement)
    with ir.InsertionPoint(end), old.location:
        scf.YieldOp([*terminator.operands, ahead])
    end.operation.erase()
    for number, result in enumerate(old.results):
        result.replace_all_uses_with(loop.results[number])
    old.operation.erase()

"""The `scores-ahead` stage: a loop computes the next iteration's scores before this one's softmax.

Matrix units then have work while other units are busy with exponentials, as in FlashAttention-3 (Shah et al.,
2024).  Q·Kᵀ depends on the iteration alone, so that the loop can carry its result.  After the last iteration
one product too many has been computed, of the last tile once more.
"""

from mlir import ir
from mlir.dialects import arith, scf

from harness.codegen.ir.for_loop import ForLoop
from harness.codegen.ir.walk import operations_within


def compute_scores_ahead(function: ir.OpView) -> None:
    """Let each loop that carries a softmax compute its first product an iteration ahead, in place."""
    for loop in [op for op in operations_within(function) if op.name == "scf.for"]:
        products = [op for op in ForLoop(loop).body.operations if op.operation.name == "vector.contract"]
        if len(products) > 1 and _depends_on_iteration_alone(products[0], loop):
            _carry(loop, products[0])


def _depends_on_iteration_alone(product: ir.OpView, loop: ir.OpView) -> bool:
    body = ForLoop(loop).body

    def is_given(value: ir.Value) -> bool:
        owner = value.owner
        if isinstance(owner, ir.Block):
            return owner != body or value == body.arguments[0]
        if owner.operation.block != body:
            return True
        return not len(owner.operation.regions) and all(map(is_given, owner.operands))

    return all(map(is_given, product.operands))


def _carry(old: ir.OpView, product: ir.OpView) -> None:
    """Replace a loop by one that carries the product of its next iteration."""
    lower, upper, step = ForLoop(old).bounds

    def product_of(iteration: ir.Value) -> ir.Value:
        return ForLoop(old).at_iteration([product.results[0]], iteration)[0]

    with ir.InsertionPoint(old), old.location:
        some = arith.cmpi(arith.CmpIPredicate.slt, lower, upper)
        first = product_of(arith.select(some, lower, arith.constant(ir.IndexType.get(), 0)))
        loop = scf.ForOp(lower, upper, step, [*ForLoop(old).initial_values, first])
    for name in old.attributes:
        loop.operation.attributes[name] = old.attributes[name]
    body, new = ForLoop(old).body, loop.body
    with ir.InsertionPoint(new), old.location:
        iteration = loop.induction_variable
        following = arith.addi(iteration, step)
        goes_on = arith.cmpi(arith.CmpIPredicate.slt, following, upper)
        ahead = product_of(arith.select(goes_on, following, iteration))
        end = scf.YieldOp([])
    product.results[0].replace_all_uses_with(loop.inner_iter_args[-1])
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

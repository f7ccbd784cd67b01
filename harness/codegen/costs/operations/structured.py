"""Structured operations (`linalg`): a body executed for every point of a loop nest.

Each operand is read once, if the body uses it, and each result written once, whatever the loops: what a
later stage reads again from the same memory shows in that stage.
"""

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import linalg

from harness.codegen.costs.costs import NotCountable
from harness.codegen.costs.expressions import Constant, Expression, Unknown, Variable
from harness.codegen.costs.memory import is_memory
from harness.codegen.costs.operations.arithmetic import FUSED_MULTIPLY_ADD, Kind
from harness.codegen.costs.trees import NOTHING, CostTree, Fixed, nest, sequence
from harness.codegen.costs.walk import Handler, Walk, body_of, nothing
from harness.codegen.ir.walk import terminator_of

PREFIX = "linalg."


def structured(walk: Walk, operation: ir.OpView) -> CostTree:
    """Count any structured operation, named ones by the body that MLIR keeps for them."""
    maps = _indexing_maps(operation)
    body = body_of(operation)
    sizes = _loop_sizes(walk, operation, maps)
    variables = [Variable() for _ in sizes]
    walk.loops.append(variables)
    cost = sequence([walk.block(body), _as_contraction(body, maps)])
    walk.loops.pop()
    return sequence([nest(variables, sizes, cost), *_moved(walk, operation, body)])


def _moved(walk: Walk, operation: ir.OpView, body: ir.Block) -> list[CostTree]:
    """Return the traffic, and define the results: each is stored where its `outs` operand is."""
    operands = list(operation.operands)
    outputs = len(list(terminator_of(body).operands))
    inputs = len(operands) - outputs
    moved = [
        walk.memory(value).reads()
        for value, argument in zip(operands, body.arguments, strict=False)
        if is_memory(value.type) and list(argument.uses)
    ]
    for value in operands[inputs:]:
        moved.append(walk.memory(value).writes())
    for value, result in zip(operands[inputs:], operation.results, strict=False):
        walk.define(result, walk.memory(value))
    return moved


def _indexing_maps(operation: ir.OpView) -> list[ir.AffineMap]:
    mappings = linalg.get_indexing_maps(operation) if list(operation.regions) else None
    if mappings is None:
        raise NotCountable(f"{operation.name}: it has no body to count; decompose it first")
    return [ir.AffineMapAttr(mapping).value for mapping in mappings]


def _loop_sizes(walk: Walk, operation: ir.OpView, maps: Sequence[ir.AffineMap]) -> list[Expression]:
    count = maps[0].n_dims
    sizes: list[Expression] = [
        Unknown(f"{operation.name}: no operand tells the size of loop {position}")
        for position in range(count)
    ]
    for value, mapping in zip(operation.operands, maps, strict=True):
        if not is_memory(value.type):
            continue
        for size, expression in zip(walk.memory(value).shape, mapping.results, strict=True):
            if isinstance(expression, ir.AffineDimExpr):
                position = ir.AffineDimExpr(expression).position
                if not isinstance(sizes[position], Constant):
                    sizes[position] = size
    return sizes


def _as_contraction(body: ir.Block, maps: Sequence[ir.AffineMap]) -> CostTree:
    """Return what turns the count of a body into that of a contraction, if it is one.

    A contraction adds to its output the product of two of its inputs, converted or not.
    """
    yielded = list(terminator_of(body).operands)
    parts: list[CostTree] = []
    for value, mapping in zip(yielded, maps[len(maps) - len(yielded) :], strict=True):
        if len(mapping.results) < mapping.n_dims:
            accumulator = body.arguments[len(body.arguments) - len(yielded) + len(parts)]
            parts.append(_product_added_to(value, accumulator))
    return sequence(parts)


def _product_added_to(value: ir.Value, accumulator: ir.Value) -> CostTree:
    if not isinstance(value, ir.OpResult):
        return NOTHING
    operands = list(value.owner.operands)
    if value.owner.name == "math.fma" and operands[2] == accumulator:
        fused = all(_from_input(factor, accumulator) for factor in operands[:2])
        return _recounted(FUSED_MULTIPLY_ADD[Kind.FMA]) if fused else NOTHING
    if value.owner.name != "arith.addf" or accumulator not in operands:
        return NOTHING
    added = operands[1 - operands.index(accumulator)]
    if not isinstance(added, ir.OpResult) or added.owner.name != "arith.mulf":
        return NOTHING
    is_product = all(_from_input(factor, accumulator) for factor in added.owner.operands)
    return _recounted(0) if is_product else NOTHING


def _recounted(fused: int) -> CostTree:
    """Move one multiply-add from the other operations to the matrix products."""
    return Fixed({Kind.MATMUL: 2, Kind.OTHER: -2, Kind.FMA: -fused})


def _from_input(value: ir.Value, accumulator: ir.Value) -> bool:
    """Whether a factor varies with the inputs: a constant factor makes no contraction."""
    if isinstance(value, ir.BlockArgument):
        return value.owner == accumulator.owner and value != accumulator
    if value.owner.operation.block != accumulator.owner:
        return False
    return any(_from_input(operand, accumulator) for operand in value.owner.operands)


def _loop_index(walk: Walk, operation: ir.OpView) -> CostTree:
    position = ir.IntegerAttr(operation.attributes["dim"]).value
    walk.define(operation.results[0], walk.loops[-1][position])
    return NOTHING


def structured_names() -> list[str]:
    """Return the names of all structured operations of the dialect."""
    classes = (member for member in vars(linalg).values() if isinstance(member, type))
    names = {getattr(member, "OPERATION_NAME", None) for member in classes if issubclass(member, ir.OpView)}
    return sorted(name for name in names if isinstance(name, str) and name.startswith(PREFIX))


STRUCTURED: dict[str, Handler] = {
    **dict.fromkeys(structured_names(), structured),
    "linalg.index": _loop_index,
    "linalg.yield": nothing,
}

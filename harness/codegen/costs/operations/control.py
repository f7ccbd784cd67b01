"""Loops and branches of `scf`, and what ends their bodies."""

from collections.abc import Sequence

from mlir import ir

from harness.codegen.costs.expressions import Constant, Expression, Variable, selected
from harness.codegen.costs.memory import Memory, is_memory
from harness.codegen.costs.operations.tensors import either, insert
from harness.codegen.costs.trees import (
    NOTHING,
    Bounds,
    Carried,
    CostTree,
    branch,
    final_value,
    loop,
)
from harness.codegen.costs.walk import Handler, Walk, body_of, is_integer, nothing, operand_groups
from harness.codegen.ir.walk import terminator_of


def _for(walk: Walk, operation: ir.OpView) -> CostTree:
    lower, upper, step, *initial = operation.operands
    bounds = (walk.integer(lower), walk.integer(upper), walk.integer(step))
    body = body_of(operation)
    induction, *arguments = body.arguments
    variable = Variable()
    walk.define(induction, variable)
    integers = {argument: Variable() for argument in arguments if is_integer(argument.type)}
    for argument, own in integers.items():
        walk.define(argument, own)
    cost = _body_with_carried_memory(walk, body, initial, arguments)
    yielded = list(terminator_of(body).operands)
    carried = [
        Carried(integers[argument], walk.integer(first), walk.integer(following))
        for argument, first, following in zip(arguments, initial, yielded, strict=True)
        if argument in integers
    ]
    numbers = {argument: number for number, argument in enumerate(integers)}
    for argument, result in zip(arguments, operation.results, strict=True):
        if argument in numbers:
            walk.define(result, final_value(variable, bounds, carried, numbers[argument]))
        elif is_memory(argument.type):
            walk.define(result, walk.memory(argument))
    return loop(variable, bounds, cost, carried)


def _body_with_carried_memory(
    walk: Walk, body: ir.Block, initial: Sequence[ir.Value], arguments: Sequence[ir.Value]
) -> CostTree:
    """Walk a body whose tensors may be stored elsewhere from the second iteration on."""
    stored = {
        argument: walk.memory(first)
        for argument, first in zip(arguments, initial, strict=True)
        if is_memory(argument.type)
    }
    while True:
        for argument, memory in stored.items():
            walk.define(argument, memory)
        cost = walk.block(body)
        yielded = dict(zip(arguments, terminator_of(body).operands, strict=True))
        after = {
            argument: either(memory, walk.memory(yielded[argument])) for argument, memory in stored.items()
        }
        if all(after[argument] is memory for argument, memory in stored.items()):
            return cost
        stored = after


def _forall(walk: Walk, operation: ir.OpView) -> CostTree:
    lower, upper, step, outputs = operand_groups(operation)
    bounds = list(
        zip(
            walk.mixed(operation, "staticLowerBound", lower),
            walk.mixed(operation, "staticUpperBound", upper),
            walk.mixed(operation, "staticStep", step),
            strict=True,
        )
    )
    body = body_of(operation)
    arguments = list(body.arguments)
    for argument, output in zip(arguments[len(bounds) :], outputs, strict=True):
        walk.define(argument, walk.memory(output))
    for result, output in zip(operation.results, outputs, strict=True):
        walk.define(result, walk.memory(output))
    return _nested(walk, arguments[: len(bounds)], bounds, body)


def _nested(walk: Walk, inductions: Sequence[ir.Value], bounds: Sequence[Bounds], body: ir.Block) -> CostTree:
    variables = [Variable() for _ in bounds]
    for induction, variable in zip(inductions, variables, strict=True):
        walk.define(induction, variable)
    cost = walk.block(body)
    for variable, own in reversed(list(zip(variables, bounds, strict=True))):
        cost = loop(variable, own, cost)
    return cost


def _if(walk: Walk, operation: ir.OpView) -> CostTree:
    condition = walk.integer(operation.operands[0])
    regions = [region for region in operation.regions if list(region.blocks)]
    bodies = [body_of(operation, number) for number in range(len(regions))]
    costs = [walk.block(body) for body in bodies]
    for number, result in enumerate(operation.results):
        if_true, if_false = (list(terminator_of(body).operands)[number] for body in bodies)
        if is_memory(result.type):
            walk.define(result, _chosen_memory(walk, condition, if_true, if_false))
        elif is_integer(result.type):
            walk.define(result, selected(condition, walk.integer(if_true), walk.integer(if_false)))
    return branch(condition, costs[0], costs[1] if len(costs) > 1 else NOTHING)


def _chosen_memory(walk: Walk, condition: Expression, if_true: ir.Value, if_false: ir.Value) -> Memory:
    first, second = walk.memory(if_true), walk.memory(if_false)
    if isinstance(condition, Constant):
        return first if condition.number else second
    shape = [selected(condition, *sizes) for sizes in zip(first.shape, second.shape, strict=True)]
    return either(first.viewed(shape, first.place), second.viewed(shape, second.place))


def _in_parallel(walk: Walk, operation: ir.OpView) -> CostTree:
    return walk.block(body_of(operation)) if list(operation.regions[0].blocks) else NOTHING


def _return(walk: Walk, operation: ir.OpView) -> CostTree:
    walk.returned += [walk.memory(value) for value in operation.operands if is_memory(value.type)]
    return NOTHING


CONTROL: dict[str, Handler] = {
    "scf.for": _for,
    "scf.forall": _forall,
    "scf.forall.in_parallel": _in_parallel,
    "tensor.parallel_insert_slice": insert,
    "scf.if": _if,
    "scf.yield": nothing,
    "func.return": _return,
}

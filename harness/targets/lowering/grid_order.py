"""The order in which the points of a grid are numbered: those with the longest loops first.

Points are handed out in the order of their numbers: a long one that starts last would run alone at the end
(R. L. Graham, *Bounds on Multiprocessing Timing Anomalies*, 1969).
"""

import math
from dataclasses import dataclass

import numpy as np
from mlir import ir
from mlir.dialects import arith

from harness.codegen.costs.costs import NotCountable
from harness.codegen.costs.expressions import Bindings, Variable
from harness.codegen.costs.operations.arithmetic import INTEGERS, integer_constant
from harness.codegen.costs.trees import CostTree, Fixed, loop, sequence
from harness.codegen.costs.walk import Walk
from harness.codegen.ir import builder as b
from harness.codegen.ir.for_loop import ForLoop
from harness.codegen.ir.walk import functions_of

ITERATIONS = "iterations"

MOST_POINTS = 4096
"""A grid of more points along the axes that its loops depend on is left as it is: each is looked at."""


@dataclass(frozen=True)
class SlowAxis:
    """An axis of a grid that is to be numbered slower than others."""

    axis: int
    is_descending: bool
    """Whether its last coordinate comes first."""


def number_longest_first(module: ir.Module) -> None:
    """Number the points of each kernel's grid so that those with the longest loops come first, in place.

    Axes along which the iterations of the loops inside grow or shrink become the slowest ones.  A grid where
    they do neither, or depend on what is known only at run time, stays as it is.
    """
    for function in functions_of(module):
        for operation in function.entry_block.operations:
            if operation.name == "scf.forall":
                _number(operation, slow_axes(operation))


def slow_axes(grid: ir.OpView) -> list[SlowAxis]:
    """Return the axes along which the work of a grid's points grows or shrinks, in the grid's order."""
    walk = Walk({})
    for operation in grid.operation.block.operations:
        _note_integer(walk, operation)
    sizes, body = _sizes(grid), grid.regions[0].blocks[0]
    variables = [Variable() for _ in sizes]
    for argument, variable in zip(body.arguments, variables, strict=False):
        walk.define(argument, variable)
    work = _iterations(walk, body)
    axes = [axis for axis, variable in enumerate(variables) if variable in work.variables]
    if not axes or not 0 < math.prod(sizes[axis] for axis in axes) <= MOST_POINTS:
        return []
    iterations = np.zeros([sizes[axis] for axis in axes], dtype=np.int64)
    try:
        for place in np.ndindex(iterations.shape):
            point = {variables[axis]: number for axis, number in zip(axes, place, strict=True)}
            iterations[place] = work.amounts(Bindings(point)).get(ITERATIONS, 0)
    except NotCountable:
        return []
    slow = []
    for position, axis in enumerate(axes):
        others = tuple(other for other in range(len(axes)) if other != position)
        steps = np.diff(iterations.sum(axis=others))
        if steps.any() and (np.all(steps >= 0) or np.all(steps <= 0)):
            slow.append(SlowAxis(axis, is_descending=bool(np.any(steps > 0))))
    return slow


def coordinates_of(point: ir.Value, sizes: list[int]) -> list[ir.Value]:
    """Split a point's number into coordinates of a grid; the last dimension is the fastest."""
    if not sizes:
        return []
    index = ir.IndexType.get()
    coordinates: list[ir.Value] = []
    rest = point
    for size in reversed(sizes[1:]):
        extent = arith.constant(index, size)
        coordinates.insert(0, arith.remui(rest, extent))
        rest = arith.divui(rest, extent)
    return [rest, *coordinates]


def _number(grid: ir.OpView, slow: list[SlowAxis]) -> None:
    """Permute a grid's axes, the slow ones first, and let those that descend count down."""
    sizes = _sizes(grid)
    descending = {slow_axis.axis for slow_axis in slow if slow_axis.is_descending}
    order = [slow_axis.axis for slow_axis in slow]
    order += [axis for axis in range(len(sizes)) if axis not in order]
    if order == list(range(len(sizes))) and not descending:
        return
    body = grid.regions[0].blocks[0]
    arguments = list(body.arguments)
    uses = [list(argument.uses) for argument in arguments[: len(sizes)]]
    for place, axis in enumerate(order):
        coordinate = arguments[place]
        if axis in descending:
            coordinate = _counted_down(coordinate, sizes[axis], body)
        for use in uses[axis]:
            use.owner.operands[use.operand_number] = coordinate
    grid.attributes["staticUpperBound"] = ir.DenseI64ArrayAttr.get([sizes[axis] for axis in order])


def _counted_down(coordinate: ir.Value, size: int, body: ir.Block) -> ir.Value:
    with ir.InsertionPoint.at_block_begin(body), ir.Location.unknown():
        return b.affine_value(lambda number: size - 1 - number, coordinate)


def _sizes(grid: ir.OpView) -> list[int]:
    return list(ir.DenseI64ArrayAttr(grid.attributes["staticUpperBound"]))


def _iterations(walk: Walk, block: ir.Block) -> CostTree:
    """Return how many iterations the loops of a block execute, those of nested loops included."""
    parts: list[CostTree] = []
    for operation in block.operations:
        if operation.name == "scf.for":
            variable, body = Variable(), operation.regions[0].blocks[0]
            walk.define(body.arguments[0], variable)
            lower, upper, step = (walk.integer(bound) for bound in ForLoop(operation).bounds)
            inside = sequence([Fixed({ITERATIONS: 1}), _iterations(walk, body)])
            parts.append(loop(variable, (lower, upper, step), inside))
        else:
            _note_integer(walk, operation)
    return sequence(parts)


def _note_integer(walk: Walk, operation: ir.OpView) -> None:
    """Note what an operation computes, if that is a scalar integer."""
    if operation.name == "arith.constant":
        integer_constant(walk, operation)
    elif operation.name in INTEGERS:
        INTEGERS[operation.name](walk, operation)

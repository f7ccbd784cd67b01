"""Rules for control flow: loops carry the fragments of what they carried, conditions are uniform."""

from mlir import ir
from mlir.dialects import scf

from harness.codegen.ir.for_loop import ForLoop
from harness.codegen.layouts.constraints import is_vector
from harness.codegen.layouts.distribution.distributor import Distributor
from harness.codegen.layouts.distribution.lane_value import LaneValue


def distribute_loop(distributor: Distributor, operation: ir.OpView) -> None:
    """Swap what the loop carries for its fragments."""
    old = ForLoop(operation)
    bounds = distributor.scalars(old.bounds)
    starts: list[ir.Value] = []
    for start in old.initial_values:
        starts += _flat(distributor, start)
    loop = scf.ForOp(*bounds, starts)
    distributor.define(old.position, loop.induction_variable)
    _define_from(distributor, old.carried, list(loop.inner_iter_args))
    with ir.InsertionPoint(loop.body):
        *operations, terminator = old.body.operations
        distributor.run(operations)
        yielded: list[ir.Value] = []
        for value in terminator.operands:
            yielded += _flat(distributor, value)
        scf.YieldOp(yielded)
    _define_from(distributor, list(operation.results), list(loop.results))


def distribute_condition(distributor: Distributor, operation: ir.OpView) -> None:
    """All lanes take the same branch; it gives no values."""
    branch = scf.IfOp(distributor.scalar(operation.operands[0]))
    with ir.InsertionPoint(branch.then_block):
        distributor.run(list(operation.regions[0].blocks[0].operations)[:-1])
        scf.YieldOp([])


def _flat(distributor: Distributor, value: ir.Value) -> list[ir.Value]:
    if is_vector(value):
        return list(distributor.held(value).fragments)
    return [distributor.scalar(value)]


def _define_from(distributor: Distributor, values: list[ir.Value], flat: list[ir.Value]) -> None:
    for value in values:
        if is_vector(value):
            layout = distributor.layout(value)
            fragments, flat = flat[: layout.fragments], flat[layout.fragments :]
            distributor.define(value, LaneValue(layout, tuple(fragments)))
        else:
            distributor.define(value, flat[0])
            flat = flat[1:]

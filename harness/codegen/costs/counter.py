"""Counting what one call of a module's kernels executes."""

from collections.abc import Mapping

import numpy as np
from mlir import ir
from mlir.dialects import func

from harness.codegen.costs.costs import Costs, KernelCosts, NotCountable, Traffic
from harness.codegen.costs.expressions import Bindings, Constant, Expression, Unknown
from harness.codegen.costs.memory import DYNAMIC, Buffer, Level, Memory, Moved, is_memory
from harness.codegen.costs.operations import OPERATIONS
from harness.codegen.costs.operations.arithmetic import Kind
from harness.codegen.costs.trees import Amounts
from harness.codegen.costs.walk import Handler, Walk, body_of, name_of
from harness.codegen.ir.walk import functions_of
from harness.codegen.payloads.arguments import BUFFER, is_workspace


def count(
    module: ir.Module,
    *,
    known: Mapping[str, np.ndarray] | None = None,
    points: Mapping[str, int] | None = None,
    operations: Mapping[str, Handler] | None = None,
) -> tuple[KernelCosts, ...]:
    """Count what one call of each kernel executes, in calling order; `costs.total` adds them up.

    Args:
        module: kernels at any stage before the LLVM dialect; its context must be alive.
        known: integers in buffers, such as cumulative sequence lengths, where they decide what is executed;
            buffers go by their name, else `arg0`, `arg1` …
        points: size of the grid of each kernel that takes a range of it as two index arguments.
        operations: how to count operations that this package does not know, by name.

    Raises:
        NotCountable: an operation is not known, or what it executes depends on something that is not.
    """
    handlers = {**OPERATIONS, **(operations or {})}
    _refuse_late_stages(module)
    defined = [function for function in functions_of(module) if list(function.regions[0].blocks)]
    return tuple(_count_kernel(function, known or {}, points or {}, handlers) for function in defined)


def _refuse_late_stages(module: ir.Module) -> None:
    names = {name_of(operation) for operation in module.body.operations}
    if "gpu.module" in names:
        raise NotCountable("it says what one lane does, not what a kernel does")
    if "llvm.func" in names:
        raise NotCountable("llvm.func: the llvm dialect has jumps instead of loops; count an earlier stage")


def _count_kernel(
    function: func.FuncOp,
    known: Mapping[str, np.ndarray],
    points: Mapping[str, int],
    handlers: Mapping[str, Handler],
) -> KernelCosts:
    name = ir.StringAttr(function.attributes["sym_name"]).value
    walk = Walk(handlers)
    arguments = list(function.arguments)
    attributes = _argument_attributes(function)
    anything_named = any(BUFFER in own for own in attributes)
    for number, (argument, own) in enumerate(zip(arguments, attributes, strict=True)):
        if is_memory(argument.type):
            walk.define(argument, _argument(number, argument.type, own, anything_named, known))
    _define_range(walk, name, arguments, points)
    try:
        tree = walk.block(body_of(function))
        amounts = tree.amounts(Bindings({}))
    except NotCountable as error:
        raise NotCountable(f"kernel {name}: {error}") from error
    _name_results(walk)
    return KernelCosts(kernel=name, costs=_costs(name, amounts))


def _argument_attributes(function: func.FuncOp) -> list[ir.DictAttr]:
    if "arg_attrs" not in function.attributes:
        return [ir.DictAttr.get({})] * len(list(function.arguments))
    return [ir.DictAttr(own) for own in function.arg_attrs]


def _argument(
    number: int,
    kind: ir.Type,
    attributes: ir.DictAttr,
    anything_named: bool,
    known: Mapping[str, np.ndarray],
) -> Memory:
    """Return the memory of an argument; beside named ones, one without a name is scratch of a thread."""
    name = ir.StringAttr(attributes[BUFFER]).value if BUFFER in attributes else f"arg{number}"
    if is_workspace(attributes):
        level = Level.WORKSPACE
    elif BUFFER in attributes or not anything_named:
        level = Level.ARGUMENT
    else:
        level = Level.SCRATCH
    reason = f"a size of {name!r} is known only at run time"
    shape: list[Expression] = [Unknown(reason) if size == DYNAMIC else Constant(size) for size in kind.shape]
    return Memory(Buffer(level, name, known.get(name)), tuple(shape), kind.element_type)


def _define_range(walk: Walk, name: str, arguments: list[ir.Value], points: Mapping[str, int]) -> None:
    """Define the index arguments of a kernel that computes a range of its grid: all of it."""
    indices = [argument for argument in arguments if isinstance(argument.type, ir.IndexType)]
    if len(indices) == 2 and name in points:
        walk.define(indices[0], Constant(0))
        walk.define(indices[1], Constant(points[name]))
        return
    for argument in indices:
        reason = (
            f"argument {argument.arg_number} (index) decides what is executed; pass points={{{name!r}: …}}"
        )
        walk.define(argument, Unknown(reason))


def _name_results(walk: Walk) -> None:
    """Call tensors that are returned but are no arguments results: the caller gets them in main memory."""
    returned = list(dict.fromkeys(memory.buffer for memory in walk.returned))
    new = [buffer for buffer in returned if buffer.level in (Level.SCRATCH, Level.UNDETERMINED)]
    for number, buffer in enumerate(new):
        buffer.level = Level.ARGUMENT
        buffer.name = "result" if len(new) == 1 else f"result{number}"


def _costs(name: str, amounts: Amounts) -> Costs:
    arguments: dict[str, Traffic] = {}
    workspace: dict[str, Traffic] = {}
    temporary = {Level.SCRATCH: Traffic(), Level.UNDETERMINED: Traffic()}
    for key, moved in amounts.items():
        if not isinstance(key, Moved):
            continue
        buffer = key.buffer
        if buffer.contents is not None and key.is_written:
            raise NotCountable(
                f"kernel {name}: it writes to {buffer.name!r}, whose contents were given as known"
            )
        traffic = Traffic(written=moved) if key.is_written else Traffic(read=moved)
        if buffer.level in temporary:
            temporary[buffer.level] += traffic
        else:
            named = arguments if buffer.level is Level.ARGUMENT else workspace
            named[buffer.name] = named.get(buffer.name, Traffic()) + traffic
    return Costs(
        matmul=amounts.get(Kind.MATMUL, 0),
        exp=amounts.get(Kind.EXP, 0),
        other=amounts.get(Kind.OTHER, 0),
        fma=amounts.get(Kind.FMA, 0),
        arguments=dict(sorted(arguments.items())),
        workspace=dict(sorted(workspace.items())),
        scratch=temporary[Level.SCRATCH],
        undetermined=temporary[Level.UNDETERMINED],
    )

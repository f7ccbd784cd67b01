"""Operations of a lane as Intel's GPUs have them: numbers of lane and sub-group, exponentials, maxima."""

from collections.abc import Callable

from mlir import ir
from mlir.dialects import arith, gpu, math

from harness.ir.constants import constant_index
from harness.ir.walk import operations_within, producer_of
from harness.targets.xegpu.chips import SUB_GROUP

Replacement = Callable[[ir.OpView], ir.Value | None]
"""Emits what stands for an operation, at its place; None where the operation stays."""


def use_own_operations(module: ir.Module) -> None:
    """Replace what such GPUs have an operation for, in place."""
    for operation in list(operations_within(module.operation)):
        replacement = REPLACEMENTS.get(operation.operation.name)
        if replacement is None:
            continue
        with ir.InsertionPoint(operation), operation.location:
            result = replacement(operation)
        if result is not None:
            operation.results[0].replace_all_uses_with(result)
            operation.operation.erase()


def _native_exponential(operation: ir.OpView) -> ir.Value:
    """Return the exponential that the hardware computes, right to a few units in the last place."""
    result: ir.Value = math.exp2(operation.operands[0], fastmath=arith.FastMathFlags.afn)
    return result


def _maximum_of_numbers(operation: ir.OpView) -> ir.Value:
    """Return a maximum that passes over NaN, one instruction instead of several.

    Kernels take maxima of rows of scores, and subtract them from the same scores: a NaN among these makes
    the row's sum of exponentials NaN, whatever its maximum is.
    """
    result: ir.Value = arith.maxnumf(*operation.operands)
    return result


def _lane(operation: ir.OpView) -> ir.Value | None:
    return gpu.lane_id() if _is_of_thread(operation) else None


def _sub_group(operation: ir.OpView) -> ir.Value | None:
    """Return the number of the sub-group, which all its lanes are known to share: messages need that."""
    return gpu.subgroup_id() if _is_of_thread(operation) else None


def _is_of_thread(operation: ir.OpView) -> bool:
    """Return whether an operation divides the number of the thread by the lanes of a sub-group."""
    thread, lanes = operation.operands
    producer = producer_of(thread)
    return producer is not None and producer.name == "gpu.thread_id" and constant_index(lanes) == SUB_GROUP


REPLACEMENTS: dict[str, Replacement] = {
    "arith.divui": _sub_group,
    "arith.maximumf": _maximum_of_numbers,
    "arith.remui": _lane,
    "math.exp2": _native_exponential,
}

"""Operations of a lane as Intel's GPUs have them: numbers of lane and sub-group, exponentials, maxima."""

from mlir import ir
from mlir.dialects import arith, gpu, math

from harness.ir.constants import constant_index
from harness.ir.walk import producer_of
from harness.targets.gpu.own_operations import Replacement, maximum_of_numbers, replace_operations
from harness.targets.xegpu.chips import SUB_GROUP


def use_own_operations(module: ir.Module) -> None:
    """Replace what such GPUs have an operation for, in place."""
    replace_operations(module, REPLACEMENTS)


def _native_exponential(operation: ir.OpView) -> ir.Value:
    """Return the exponential that the hardware computes, right to a few units in the last place."""
    result: ir.Value = math.exp2(operation.operands[0], fastmath=arith.FastMathFlags.afn)
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
    "arith.maximumf": maximum_of_numbers,
    "arith.remui": _lane,
    "math.exp2": _native_exponential,
}

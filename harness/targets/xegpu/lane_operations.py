"""What is done to a lane's operations on their way to SPIR-V, beside MLIR's passes."""

from mlir import ir
from mlir.dialects import arith, gpu, llvm, math, vector

from harness.codegen.ir.constants import constant_index
from harness.codegen.ir.walk import operations_within, producer_of
from harness.system.errors import BuildError
from harness.targets.gpu.own_operations import maximum_of_numbers
from harness.targets.lowering.transforms import Replacement, replace_operations
from harness.targets.xegpu.chips import SUB_GROUP

HIGHER = ("xegpu.", "xevm.", "gpu.warp_execute_on_lane_0")
"""How the names of operations begin that only a lowering knows."""
ALIGNMENT = 64
"""Bytes: more than any vector that is loaded from an array of a lane needs."""


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
"""Operations that such GPUs have another one for: numbers of lane and sub-group, exponentials, maxima."""


def cut_words(module: ir.Module) -> None:
    """Let slices of a vector that words were taken for be slices of the words, in place.

    A message for two fragments gives 16 words, which are 32 elements of 16 bits.  SPIR-V has no vectors of
    32, and LLVM would take one apart into its elements.
    """
    replace_operations(module, {"vector.extract_strided_slice": _cut})


def _cut(piece: ir.OpView) -> ir.Value | None:
    taken_for = producer_of(piece.operands[0])
    if taken_for is None or taken_for.operation.name != "vector.bitcast":
        return None
    words, elements = taken_for.operands[0], taken_for.results[0]
    in_word, rest = divmod(elements.type.shape[0], words.type.shape[0])
    (start,), (size,) = (
        [ir.IntegerAttr(number).value for number in ir.ArrayAttr(piece.attributes[name])]
        for name in ("offsets", "sizes")
    )
    if rest or in_word < 2 or start % in_word or size % in_word:
        return None
    kind = ir.VectorType.get([size // in_word], words.type.element_type)
    cut = vector.extract_strided_slice(kind, words, [start // in_word], [size // in_word], [1])
    return vector.bitcast(piece.results[0].type, cut)


def require_lowered(module: ir.Module) -> None:
    """Raise `BuildError` with the names of operations that a lowering has left behind.

    Some of MLIR's passes for these dialects leave what they have no pattern for, and say nothing.
    """
    names = {operation.operation.name for operation in operations_within(module.operation)}
    left = [name for name in sorted(names) if name.startswith(HIGHER)]
    if left:
        raise BuildError(f"left behind by the lowering: {', '.join(left)}")


def declare_arrays_first(module: ir.Module) -> None:
    """Let every `llvm.alloca` stand first in its function, with the size in its type, in place.

    XeVM's lowering allocates an array where a message stands, of a size that is a value.  In SPIR-V that is
    an array of variable length, of which a loop makes a new one each time.
    """
    for kernel in module.body.operations[0].regions[0].blocks[0].operations:
        if kernel.operation.name == "llvm.func" and len(kernel.regions[0].blocks):
            for operation in list(operations_within(kernel)):
                if operation.operation.name == "llvm.alloca":
                    _declare_first(operation, kernel.regions[0].blocks[0])


def _declare_first(allocation: ir.OpView, entry: ir.Block) -> None:
    element = ir.TypeAttr(allocation.attributes["elem_type"]).value
    array = ir.Type.parse(f"!llvm.array<{_count(allocation)} x {element}>")
    alignment = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), ALIGNMENT)
    with ir.InsertionPoint.at_block_begin(entry), allocation.location:
        array_count = llvm.mlir_constant(ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 1))
        declared = llvm.AllocaOp(allocation.results[0].type, array_count, array, alignment=alignment)
    allocation.results[0].replace_all_uses_with(declared.res)
    allocation.operation.erase()


def _count(allocation: ir.OpView) -> int:
    size = producer_of(allocation.operands[0])
    if size is None or size.operation.name != "llvm.mlir.constant":
        raise BuildError("an array of a lane has a size that is no constant")
    return ir.IntegerAttr(size.attributes["value"]).value

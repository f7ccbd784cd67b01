"""Operations of a lane (exponentials, maxima, barriers) as the instructions that AMD's GPUs have for them."""

from collections.abc import Collection

from mlir import ir
from mlir.dialects import amdgpu, llvm, rocdl

from harness.codegen.ir.constants import constant_index
from harness.codegen.ir.walk import operations_within
from harness.targets.gpu.own_operations import by_intrinsic, maximum_of_numbers
from harness.targets.lowering.transforms import Replacement, replace_operations
from harness.targets.rocm.chips import Feature

EXPONENTIAL = "llvm.amdgcn.exp2.f32"
"""`v_exp_f32`: it gives subnormal numbers as 0."""

ROW_LANES = 16
SAME_LANES = (0x76543210, 0xFEDCBA98 - (1 << 32))
"""Which lane of the other row each of a row's lanes reads, 4 bits for each: its own number."""


def use_instructions(module: ir.Module, features: Collection[Feature]) -> None:
    """Replace what a chip of these features has an instruction for, in place."""
    replacements: dict[str, Replacement] = {"math.exp2": by_intrinsic(EXPONENTIAL)}
    if Feature.ROW_EXCHANGE in features:
        replacements["gpu.shuffle"] = _row_exchange
    if Feature.PROPAGATING_MAXIMUM not in features:
        replacements["arith.maximumf"] = maximum_of_numbers
    replace_operations(module, replacements)
    for operation in list(operations_within(module.operation)):
        if operation.operation.name == "gpu.barrier":
            _wait_for_lds_only(operation)


def _wait_for_lds_only(barrier: ir.OpView) -> None:
    """Let a barrier wait for accesses to LDS and for no others.

    Lanes exchange values through LDS only: loads from global memory may be on their way beyond a barrier.
    """
    with ir.InsertionPoint(barrier), barrier.location:
        amdgpu.lds_barrier()
    barrier.operation.erase()


def _row_exchange(shuffle: ir.OpView) -> ir.Value | None:
    """Return what the lane with the same number in the other row of 16 has, without a way through LDS."""
    value, offset, _ = shuffle.operands
    is_exchange = "xor" in str(shuffle.attributes["mode"]) and constant_index(offset) == ROW_LANES
    if not is_exchange or len(list(shuffle.results[1].uses)):
        return None
    word = ir.IntegerType.get_signless(32)
    low, high = (llvm.mlir_constant(ir.IntegerAttr.get(word, lanes)) for lanes in SAME_LANES)
    return rocdl.permlanex16(value.type, value, value, low, high, True, False)
